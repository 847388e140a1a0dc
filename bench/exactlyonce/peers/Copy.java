import java.io.IOException;
import java.time.Duration;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * A worker by Kafka's own client, as worker/worker.go tells: consume, transform, produce; one transaction each interval, or none at all.
 * Arguments: bootstrap, group, input, output, name, "exactly-once" or "at-least-once", interval in ms.
 */
public class Copy {
    private static volatile boolean leaving;

    private final KafkaConsumer<byte[], byte[]> consumer;
    private final KafkaProducer<byte[], byte[]> producer;
    private final String output;
    private final boolean transactional;
    private final long interval;
    private final AtomicReference<Exception> failure = new AtomicReference<>();

    public static void main(String[] a) throws Exception {
        Copy copy = new Copy(a);
        Thread end = new Thread(() -> {
            try {
                while (System.in.read() >= 0) { }
            } catch (IOException ended) { }
            leaving = true;
        });
        end.setDaemon(true);
        end.start();
        copy.run(a[2]);
    }

    private Copy(String[] a) {
        output = a[3];
        transactional = a[5].equals("exactly-once");
        interval = Long.parseLong(a[6]) * 1_000_000;
        Properties c = new Properties();
        c.put("bootstrap.servers", a[0]);
        c.put("group.id", a[1]);
        c.put("client.id", a[4]);
        c.put("enable.auto.commit", "false");
        c.put("auto.offset.reset", "earliest");
        c.put("isolation.level", "read_committed");
        consumer = new KafkaConsumer<>(c, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        Properties p = new Properties();
        p.put("bootstrap.servers", a[0]);
        p.put("client.id", a[4]);
        if (transactional) {
            p.put("transactional.id", a[4]);
        }
        producer = new KafkaProducer<>(p, new ByteArraySerializer(), new ByteArraySerializer());
    }

    private void run(String input) throws Exception {
        if (transactional) {
            producer.initTransactions();
        }
        consumer.subscribe(Collections.singletonList(input));
        while (!leaving) {
            if (transactional) {
                producer.beginTransaction();
            }
            Map<TopicPartition, OffsetAndMetadata> offsets = gather();
            if (transactional) {
                producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
                producer.commitTransaction();
            } else {
                producer.flush();
                if (failure.get() != null) {
                    throw failure.get();
                }
                consumer.commitSync(offsets);
            }
        }
        producer.close(Duration.ofSeconds(30));
        consumer.close(Duration.ofSeconds(30));
    }

    /** Polls and sends until the interval is over, and returns how far it has come. */
    private Map<TopicPartition, OffsetAndMetadata> gather() {
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        long until = System.nanoTime() + interval;
        for (long left = interval; left > 0; left = until - System.nanoTime()) {
            ConsumerRecords<byte[], byte[]> records = consumer.poll(Duration.ofNanos(left));
            for (ConsumerRecord<byte[], byte[]> r : records) {
                producer.send(new ProducerRecord<>(output, r.key(), r.value()), (sent, problem) -> {
                    if (problem != null) {
                        failure.compareAndSet(null, problem);
                    }
                });
            }
            offsets.putAll(records.nextOffsets());
        }
        return offsets;
    }
}
