import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Runs transactions one after the other on each of some producers, as they come, and prints how many were committed and how
 * long each commit took, in nanoseconds. Arguments: address, topic, producers, records a transaction, bytes a record, and for how
 * many milliseconds to run without and then with counting.
 */
public class Transactions {
    public static void main(String[] args) throws Exception {
        int producers = Integer.parseInt(args[2]);
        long lead = Long.parseLong(args[5]);
        long length = Long.parseLong(args[6]);
        ExecutorService pool = Executors.newFixedThreadPool(producers);
        List<KafkaProducer<byte[], byte[]>> all = new ArrayList<>();
        for (int i = 0; i < producers; i++) {
            all.add(start(args[0], args[1] + "-java-" + i));
        }
        run(pool, all, args, lead);
        long began = System.nanoTime();
        long[] took = run(pool, all, args, length);
        long whole = System.nanoTime() - began;
        System.out.println("took " + whole);
        StringBuilder line = new StringBuilder("commits");
        for (long t : took) {
            line.append(' ').append(t);
        }
        System.out.println(line);
        for (KafkaProducer<byte[], byte[]> producer : all) {
            producer.close(Duration.ofSeconds(10));
        }
        pool.shutdown();
    }

    static KafkaProducer<byte[], byte[]> start(String address, String id) {
        Properties p = new Properties();
        p.put("bootstrap.servers", address);
        p.put("transactional.id", id);
        KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(p, new ByteArraySerializer(), new ByteArraySerializer());
        producer.initTransactions();
        return producer;
    }

    static long[] run(ExecutorService pool, List<KafkaProducer<byte[], byte[]>> all, String[] args, long millis) throws Exception {
        long until = System.nanoTime() + millis * 1_000_000;
        List<Future<long[]>> runs = new ArrayList<>();
        for (KafkaProducer<byte[], byte[]> producer : all) {
            runs.add(pool.submit(() -> transact(producer, args[1], Integer.parseInt(args[3]), Integer.parseInt(args[4]), until)));
        }
        long[] took = new long[0];
        for (Future<long[]> one : runs) {
            long[] more = one.get();
            int n = took.length;
            took = Arrays.copyOf(took, n + more.length);
            System.arraycopy(more, 0, took, n, more.length);
        }
        return took;
    }

    static long[] transact(KafkaProducer<byte[], byte[]> producer, String topic, int records, int size, long until) {
        byte[] value = new byte[size];
        Arrays.fill(value, (byte) 'x');
        long[] took = new long[1024];
        int n = 0;
        do { // one at least: a machine that others have may begin late
            producer.beginTransaction();
            for (int i = 0; i < records; i++) {
                producer.send(new ProducerRecord<>(topic, value));
            }
            producer.flush();
            long ends = System.nanoTime();
            producer.commitTransaction();
            if (n == took.length) {
                took = Arrays.copyOf(took, 2 * n);
            }
            took[n++] = System.nanoTime() - ends;
        } while (System.nanoTime() < until);
        return Arrays.copyOf(took, n);
    }
}
