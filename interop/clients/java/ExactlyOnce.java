import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.OutOfOrderSequenceException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** A worker as exactlyonce/worker.go describes it, by the Java client; compiles against 2.3 and later. */
public class ExactlyOnce implements ConsumerRebalanceListener {
    private static final int BATCH = 20;
    private static final int ABORT_EVERY = 6;
    private static final long PAUSE_MS = 20;

    private final String group, input, name, output, transactionalId;
    private final int partitions;
    private final boolean byGroup;
    private final Properties forProducers = new Properties();
    private final KafkaConsumer<String, String> consumer;
    private final Map<TopicPartition, KafkaProducer<String, String>> producers = new HashMap<>();
    private KafkaProducer<String, String> producer; // with the group's fence
    private int attempts;
    private volatile boolean stopping;

    public static void main(String[] a) {
        try {
            new ExactlyOnce(a).run();
        } catch (Throwable t) {
            t.printStackTrace();
            say("failed " + t);
            System.exit(1);
        }
    }

    private ExactlyOnce(String[] a) {
        group = a[1];
        input = a[2];
        name = a[3];
        output = a[8];
        partitions = Integer.parseInt(a[9]);
        transactionalId = a[10];
        byGroup = a[12].equals("group");
        forProducers.put("bootstrap.servers", a[0]);
        forProducers.put("client.id", name);
        forProducers.put("acks", "all");
        forProducers.put("transaction.timeout.ms", a[11]);
        forProducers.put("reconnect.backoff.max.ms", "200");
        Properties p = new Properties();
        p.put("bootstrap.servers", a[0]);
        p.put("group.id", group);
        p.put("client.id", name);
        p.put("partition.assignment.strategy", "org.apache.kafka.clients.consumer.RangeAssignor");
        p.put("session.timeout.ms", a[6]);
        p.put("heartbeat.interval.ms", a[7]);
        p.put("enable.auto.commit", "false");
        p.put("auto.offset.reset", "earliest");
        p.put("isolation.level", "read_committed");
        p.put("max.poll.records", "" + BATCH);
        p.put("fetch.max.wait.ms", "100");
        p.put("reconnect.backoff.max.ms", "200");
        consumer = new KafkaConsumer<>(p, new StringDeserializer(), new StringDeserializer());
    }

    private void run() {
        Thread end = new Thread(() -> {
            try {
                while (System.in.read() >= 0) { }
            } catch (IOException ended) { }
            stopping = true;
        });
        end.setDaemon(true);
        end.start();
        if (byGroup) {
            producer = initialized(transactionalId);
        }
        consumer.subscribe(Collections.singletonList(input), this);
        while (!stopping) {
            ConsumerRecords<String, String> records = consumer.poll(Duration.ofMillis(100));
            if (byGroup) {
                List<ConsumerRecord<String, String>> all = new ArrayList<>();
                records.forEach(all::add);
                transact(producer, all);
            } else {
                for (TopicPartition tp : records.partitions()) {
                    transact(producers.get(tp), records.records(tp));
                }
            }
        }
        consumer.close(Duration.ofSeconds(30));
        producers.values().forEach(KafkaProducer::close);
        if (producer != null) {
            producer.close();
        }
    }

    private KafkaProducer<String, String> initialized(String id) {
        Properties p = new Properties();
        p.putAll(forProducers);
        p.put("transactional.id", id);
        KafkaProducer<String, String> made = new KafkaProducer<>(p, new StringSerializer(), new StringSerializer());
        try {
            made.initTransactions();
        } catch (ProducerFencedException fenced) { // by the next owner, at the same moment
            giveUp(fenced);
        }
        return made;
    }

    private void transact(KafkaProducer<String, String> by, List<ConsumerRecord<String, String>> records) {
        if (records.isEmpty()) {
            return;
        }
        int attempt = ++attempts;
        say("began " + attempt + " " + records.size());
        try {
            by.beginTransaction();
            send(by, records, attempt);
            if (attempt % ABORT_EVERY == 0) {
                abort(by, records, attempt);
                return;
            }
            by.commitTransaction();
            say("committed " + attempt);
        } catch (ProducerFencedException | OutOfOrderSequenceException | AuthorizationException | TimeoutException over) {
            giveUp(over); // after a timeout it may have been committed
        } catch (KafkaException problem) {
            System.err.println("transaction " + attempt + ": " + problem + ": " + problem.getCause());
            try {
                abort(by, records, attempt);
            } catch (KafkaException over) {
                giveUp(over);
            }
        }
    }

    private void send(KafkaProducer<String, String> by, List<ConsumerRecord<String, String>> records, int attempt) {
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        for (ConsumerRecord<String, String> r : records) {
            String[] words = r.value().split(" ");
            if (words.length < 2) {
                throw new IllegalStateException(r.partition() + " " + r.offset() + ": " + r.value());
            }
            int to = (Integer.parseInt(words[0]) + Integer.parseInt(words[1])) % partitions;
            by.send(new ProducerRecord<>(output, to, null, r.value() + " " + name + " " + attempt + " " + records.size()));
            offsets.put(new TopicPartition(r.topic(), r.partition()), new OffsetAndMetadata(r.offset() + 1));
        }
        by.flush();
        pause();
        sendOffsets(by, offsets);
        say("ending " + attempt);
        pause();
    }

    // sendOffsets finds the methods by their names: the ones with metadata came with 2.5, the one without went with 4.0.
    private void sendOffsets(KafkaProducer<String, String> by, Map<TopicPartition, OffsetAndMetadata> offsets) {
        try {
            Object of = group;
            Class<?> kind = String.class;
            if (byGroup) {
                Method metadata = KafkaConsumer.class.getMethod("groupMetadata");
                of = metadata.invoke(consumer);
                kind = metadata.getReturnType();
            }
            KafkaProducer.class.getMethod("sendOffsetsToTransaction", Map.class, kind).invoke(by, offsets, of);
        } catch (InvocationTargetException problem) {
            throw (RuntimeException) problem.getCause();
        } catch (ReflectiveOperationException wrong) {
            throw new IllegalStateException(wrong);
        }
    }

    private void abort(KafkaProducer<String, String> by, List<ConsumerRecord<String, String>> records, int attempt) {
        by.abortTransaction();
        say("aborted " + attempt);
        Map<TopicPartition, Long> first = new HashMap<>();
        for (ConsumerRecord<String, String> r : records) {
            first.putIfAbsent(new TopicPartition(r.topic(), r.partition()), r.offset());
        }
        first.keySet().retainAll(consumer.assignment());
        first.forEach(consumer::seek);
    }

    // Who takes a partition over first fences who had it, and only then asks where the group is.
    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> assigned) {
        if (!byGroup) {
            assigned.forEach(tp -> producers.put(tp, initialized(transactionalId + "-" + tp.partition())));
        }
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> revoked) {
        revoked.forEach(tp -> {
            KafkaProducer<String, String> had = producers.remove(tp);
            if (had != null) {
                had.close();
            }
        });
    }

    private static void giveUp(Exception why) {
        why.printStackTrace();
        say("gaveup " + why);
        Runtime.getRuntime().halt(0);
    }

    private static void pause() {
        try {
            Thread.sleep(PAUSE_MS);
        } catch (InterruptedException never) {
            throw new IllegalStateException(never);
        }
    }

    private static synchronized void say(String what) {
        Instant now = Instant.now();
        System.out.println(now.getEpochSecond() * 1_000_000 + now.getNano() / 1000 + " " + what.replaceAll("\\s+", " "));
        System.out.flush();
    }
}
