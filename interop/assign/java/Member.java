import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

// A member of a group, until standard input ends; then it leaves. Arguments:
// bootstrap server, group, topic, client id, class of the assignor.
public class Member {
    public static void main(String[] a) {
        Map<String, Object> settings = Map.of("bootstrap.servers", a[0], "group.id", a[1], "client.id", a[3],
            "partition.assignment.strategy", a[4], "heartbeat.interval.ms", "300", "enable.auto.commit", "false");
        ByteArrayDeserializer bytes = new ByteArrayDeserializer();
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings, bytes, bytes)) {
            consumer.subscribe(List.of(a[2]));
            Thread end = new Thread(() -> {
                try {
                    while (System.in.read() >= 0) { }
                } catch (IOException ended) { }
                consumer.wakeup();
            });
            end.setDaemon(true);
            end.start();
            while (true)
                consumer.poll(Duration.ofMillis(100));
        } catch (WakeupException asked) { }
    }
}
