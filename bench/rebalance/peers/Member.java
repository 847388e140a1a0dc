import java.io.IOException;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** A member of a group by Kafka's own client; what it says is told in member/member.go. */
public class Member implements ConsumerRebalanceListener {
    private static final long COMMIT_EVERY_NS = 1_000_000_000L;

    private final KafkaConsumer<byte[], byte[]> consumer;
    private final Map<TopicPartition, OffsetAndMetadata> handled = new HashMap<>();
    private volatile boolean leaving;

    /** Arguments: bootstrap, group, topic, name, assignors or "consumer" (KIP-848), session and heartbeat in ms. */
    public static void main(String[] a) {
        Properties p = new Properties();
        p.put("bootstrap.servers", a[0]);
        p.put("group.id", a[1]);
        p.put("client.id", a[3]);
        if (a[4].equals("consumer")) {
            p.put("group.protocol", "consumer"); // the broker has the rest
        } else {
            p.put("partition.assignment.strategy", Arrays.stream(a[4].split(",")).map(Member::assignor).collect(Collectors.joining(",")));
            p.put("session.timeout.ms", a[5]);
            p.put("heartbeat.interval.ms", a[6]);
        }
        p.put("enable.auto.commit", "false");
        p.put("auto.offset.reset", "earliest");
        new Member(p).run(a[2]);
    }

    private static String assignor(String name) {
        return (name.equals("range") ? RangeAssignor.class : CooperativeStickyAssignor.class).getName();
    }

    private Member(Properties p) {
        consumer = new KafkaConsumer<>(p, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    private void run(String topic) {
        Thread end = new Thread(() -> {
            try {
                while (System.in.read() >= 0) { }
            } catch (IOException ended) { }
            leaving = true;
            consumer.wakeup();
        });
        end.setDaemon(true);
        end.start();
        consumer.subscribe(Collections.singletonList(topic), this);
        long committed = System.nanoTime();
        try {
            while (!leaving) {
                handle(consumer.poll(Duration.ofMillis(100)));
                if (System.nanoTime() - committed >= COMMIT_EVERY_NS) {
                    committed = System.nanoTime();
                    consumer.commitAsync(new HashMap<>(handled), (offsets, failure) -> {
                        if (failure != null) {
                            System.err.println("not committed: " + failure);
                        }
                    });
                }
            }
        } catch (WakeupException asked) { }
        consumer.close(Duration.ofSeconds(30)); // revokes and leaves
    }

    private void handle(ConsumerRecords<byte[], byte[]> records) {
        for (TopicPartition tp : records.partitions()) {
            List<ConsumerRecord<byte[], byte[]>> of = records.records(tp);
            long last = of.get(of.size() - 1).offset();
            say("handled " + tp.partition() + " " + of.get(0).offset() + " " + last);
            handled.put(tp, new OffsetAndMetadata(last + 1));
        }
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        say("assigned", partitions);
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        Map<TopicPartition, OffsetAndMetadata> mine = new HashMap<>(handled);
        mine.keySet().retainAll(partitions);
        while (!mine.isEmpty()) {
            try {
                consumer.commitSync(mine);
                break;
            } catch (WakeupException again) {
            } catch (CommitFailedException over) {
                System.err.println("not committed: " + over);
                break;
            }
        }
        handled.keySet().removeAll(partitions);
        say("revoked", partitions);
    }

    @Override
    public void onPartitionsLost(Collection<TopicPartition> partitions) {
        handled.keySet().removeAll(partitions);
        say("lost", partitions);
    }

    private static void say(String kind, Collection<TopicPartition> partitions) {
        if (!partitions.isEmpty()) {
            say(kind + " " + partitions.stream().map(tp -> "" + tp.partition()).collect(Collectors.joining(",")));
        }
    }

    private static synchronized void say(String what) {
        System.out.println(System.nanoTime() + " " + what);
        System.out.flush();
    }
}
