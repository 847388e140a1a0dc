import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
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
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** A member of a group as interop/internal/member describes it, by the Java client; compiles against 2.3 and later. */
public class GroupMember implements ConsumerRebalanceListener {
    private static final long COMMIT_EVERY_MS = 200;

    private final KafkaConsumer<byte[], byte[]> consumer;
    private final Map<TopicPartition, OffsetAndMetadata> pending = new HashMap<>();
    private long committed = System.currentTimeMillis();
    private volatile boolean stopping;

    public static void main(String[] a) {
        Properties p = new Properties();
        p.put("bootstrap.servers", a[0]);
        p.put("group.id", a[1]);
        p.put("client.id", a[3]);
        if (a[4].equals("consumer")) { // KIP-848: the broker has the assignors and the times
            p.put("group.protocol", "consumer");
        } else {
            p.put("partition.assignment.strategy", java.util.Arrays.stream(a[4].split(",")).map(GroupMember::className).collect(Collectors.joining(",")));
            p.put("session.timeout.ms", a[6]);
            p.put("heartbeat.interval.ms", a[7]);
        }
        if (!a[5].equals("-")) {
            p.put("group.instance.id", a[5]);
        }
        p.put("enable.auto.commit", "false");
        p.put("auto.offset.reset", "earliest");
        p.put("reconnect.backoff.max.ms", "200");
        try {
            new GroupMember(p).run(a[2]);
        } catch (Throwable t) {
            t.printStackTrace();
            say("failed " + t);
            System.exit(1);
        }
    }

    private static String className(String assignor) {
        switch (assignor) {
            case "range": return "org.apache.kafka.clients.consumer.RangeAssignor";
            case "roundrobin": return "org.apache.kafka.clients.consumer.RoundRobinAssignor";
            case "sticky": return "org.apache.kafka.clients.consumer.StickyAssignor";
            case "cooperative-sticky": return "org.apache.kafka.clients.consumer.CooperativeStickyAssignor";
            default: throw new IllegalArgumentException(assignor);
        }
    }

    private GroupMember(Properties p) {
        consumer = new KafkaConsumer<>(p, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    private void run(String topic) {
        Thread end = new Thread(() -> {
            try {
                while (System.in.read() >= 0) { }
            } catch (IOException ended) { }
            stopping = true;
            consumer.wakeup();
        });
        end.setDaemon(true);
        end.start();
        consumer.subscribe(Collections.singletonList(topic), this);
        try {
            while (!stopping) {
                handle(consumer.poll(Duration.ofMillis(100)));
                if (System.currentTimeMillis() - committed >= COMMIT_EVERY_MS) {
                    commitWhenPossible();
                }
            }
        } catch (WakeupException asked) { }
        finish();
    }

    // finish commits what is handled, which a rebalance under way may put off.
    private void finish() {
        while (!pending.isEmpty()) {
            commitWhenPossible();
            if (!pending.isEmpty()) {
                try {
                    handle(consumer.poll(Duration.ofMillis(50)));
                } catch (WakeupException asked) { }
            }
        }
        say("revoked", consumer.assignment());
        consumer.close(Duration.ofSeconds(30));
    }

    private void handle(ConsumerRecords<byte[], byte[]> records) {
        for (TopicPartition tp : records.partitions()) {
            List<ConsumerRecord<byte[], byte[]>> of = records.records(tp);
            long last = of.get(of.size() - 1).offset();
            say("handled " + tp.partition() + " " + of.get(0).offset() + " " + last + " " + of.size());
            pending.put(tp, new OffsetAndMetadata(last + 1));
        }
    }

    private void commitWhenPossible() {
        try {
            commit(pending.keySet());
        } catch (WakeupException asked) {
            commitWhenPossible();
        } catch (RetriableException | RebalanceInProgressException | CommitFailedException rebalancing) {
            System.err.println("put off: " + rebalancing); // 2.4 has the last for a rebalance under way too
        }
    }

    private void commit(Collection<TopicPartition> of) {
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>(pending);
        offsets.keySet().retainAll(of);
        if (!offsets.isEmpty()) {
            consumer.commitSync(offsets, Duration.ofSeconds(60));
            offsets.forEach((tp, offset) -> say("committed " + tp.partition() + " " + offset.offset()));
            pending.keySet().removeAll(offsets.keySet());
        }
        committed = System.currentTimeMillis();
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        say("assigned", partitions);
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        while (true) {
            try {
                commit(partitions);
                break;
            } catch (WakeupException asked) {
            } catch (CommitFailedException over) {
                pending.keySet().removeAll(partitions); // whoever gets them handles again what is not committed
                break;
            }
        }
        say("revoked", partitions);
    }

    public void onPartitionsLost(Collection<TopicPartition> partitions) { // since 2.4
        pending.keySet().removeAll(partitions);
        say("lost", partitions);
    }

    private static void say(String kind, Collection<TopicPartition> partitions) {
        if (!partitions.isEmpty()) {
            say(kind + " " + new ArrayList<>(partitions).stream().map(tp -> "" + tp.partition()).collect(Collectors.joining(",")));
        }
    }

    private static synchronized void say(String what) {
        Instant now = Instant.now();
        System.out.println(now.getEpochSecond() * 1_000_000 + now.getNano() / 1000 + " " + what);
        System.out.flush();
    }
}
