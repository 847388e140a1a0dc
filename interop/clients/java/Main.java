import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.BufferedReader;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** The Java client under the command protocol of ../python/protocol.py; compiles against 2.1 and later. */
public class Main {
    private static final long PATIENCE_MS = 60_000;

    public static void main(String[] args) throws IOException {
        PrintStream answers = System.out;
        System.setOut(System.err);
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = commands.readLine()) != null; ) {
            answers.println(answer(line.split("\t")));
            answers.flush();
        }
    }

    private static String answer(String[] c) {
        try {
            if (c[0].equals("produce")) {
                produce(c[1], c[2], c[3], c[4]);
            } else {
                consume(c[1], c[2], Integer.parseInt(c[3]), c[4]);
            }
            return "ok";
        } catch (Exception e) {
            return "error " + e.toString().replaceAll("\\s+", " ");
        }
    }

    private static void produce(String bootstrap, String topic, String codec, String file) throws Exception {
        Properties p = new Properties();
        p.put("bootstrap.servers", bootstrap);
        p.put("acks", "all");
        p.put("enable.idempotence", "true");
        p.put("compression.type", codec);
        p.put("linger.ms", "20");
        p.put("batch.size", "262144");
        p.put("delivery.timeout.ms", "60000");
        AtomicReference<Exception> failure = new AtomicReference<>();
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(p, new ByteArraySerializer(), new ByteArraySerializer());
             DataInputStream in = new DataInputStream(new BufferedInputStream(new FileInputStream(file), 1 << 20))) {
            for (ProducerRecord<byte[], byte[]> r; (r = read(in, topic)) != null && failure.get() == null; ) {
                producer.send(r, (metadata, e) -> {
                    if (e != null) {
                        failure.compareAndSet(null, e);
                    }
                });
            }
            producer.flush();
        }
        if (failure.get() != null) {
            throw failure.get();
        }
    }

    private static void consume(String bootstrap, String topic, int count, String file) throws Exception {
        Properties p = new Properties();
        p.put("bootstrap.servers", bootstrap);
        p.put("enable.auto.commit", "false");
        p.put("fetch.max.wait.ms", "50");
        p.put("max.partition.fetch.bytes", "4194304");
        p.put("max.poll.records", "10000");
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(p, new ByteArrayDeserializer(), new ByteArrayDeserializer());
             DataOutputStream out = new DataOutputStream(new BufferedOutputStream(new FileOutputStream(file), 1 << 20))) {
            List<TopicPartition> all = new ArrayList<>();
            for (PartitionInfo i : consumer.partitionsFor(topic)) {
                all.add(new TopicPartition(topic, i.partition()));
            }
            consumer.assign(all);
            consumer.seekToBeginning(all);
            int done = 0;
            long deadline = System.currentTimeMillis() + PATIENCE_MS;
            while (done < count) {
                for (ConsumerRecord<byte[], byte[]> r : consumer.poll(Duration.ofMillis(500))) {
                    write(out, r);
                    done++;
                    deadline = System.currentTimeMillis() + PATIENCE_MS;
                }
                if (System.currentTimeMillis() > deadline) {
                    throw new IOException(done + " of " + count + " records after " + PATIENCE_MS + " ms without progress");
                }
            }
        }
    }

    private static ProducerRecord<byte[], byte[]> read(DataInputStream in, String topic) throws IOException {
        int partition;
        try {
            partition = in.readInt();
        } catch (EOFException end) {
            return null;
        }
        long timestamp = in.readLong();
        byte[] key = readBytes(in);
        byte[] value = readBytes(in);
        List<Header> headers = new ArrayList<>();
        for (int i = in.readInt(); i > 0; i--) {
            headers.add(new RecordHeader(new String(readBytes(in), StandardCharsets.UTF_8), readBytes(in)));
        }
        return new ProducerRecord<>(topic, partition, timestamp < 0 ? null : timestamp, key, value, headers);
    }

    private static byte[] readBytes(DataInputStream in) throws IOException {
        int size = in.readInt();
        if (size < 0) {
            return null;
        }
        byte[] b = new byte[size];
        in.readFully(b);
        return b;
    }

    private static void write(DataOutputStream out, ConsumerRecord<byte[], byte[]> r) throws IOException {
        out.writeInt(r.partition());
        out.writeLong(r.timestamp());
        writeBytes(out, r.key());
        writeBytes(out, r.value());
        Header[] headers = r.headers().toArray();
        out.writeInt(headers.length);
        for (Header h : headers) {
            writeBytes(out, h.key().getBytes(StandardCharsets.UTF_8));
            writeBytes(out, h.value());
        }
    }

    private static void writeBytes(DataOutputStream out, byte[] b) throws IOException {
        if (b == null) {
            out.writeInt(-1);
            return;
        }
        out.writeInt(b.length);
        out.write(b);
    }
}
