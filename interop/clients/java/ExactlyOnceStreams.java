import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.time.Instant;
import java.util.Collections;
import java.util.Optional;
import java.util.Properties;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.processor.StreamPartitioner;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;

/**
 * A worker as exactlyonce/worker.go describes it, as a Kafka Streams application with exactly_once_v2. It counts the
 * inputs of each partition in a store that the broker keeps, and writes the count into each output.
 */
public class ExactlyOnceStreams {
    private static final String STORE = "counts";
    private static final long SAY_EVERY_MS = 20;

    private static String name;
    private static long said;

    public static void main(String[] a) throws IOException {
        name = a[3];
        KafkaStreams streams = new KafkaStreams(topology(a[2], a[8], Integer.parseInt(a[9])), settings(a));
        streams.setUncaughtExceptionHandler(problem -> {
            problem.printStackTrace();
            if (problem instanceof IllegalStateException || problem.getCause() instanceof IllegalStateException) {
                say("failed " + problem);
            }
            return StreamThreadExceptionResponse.REPLACE_THREAD;
        });
        streams.start();
        while (System.in.read() >= 0) { }
        boolean closed = streams.close(Duration.ofSeconds(60));
        Runtime.getRuntime().halt(closed ? 0 : 1);
    }

    private static Properties settings(String[] a) throws IOException {
        Properties p = new Properties();
        p.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, a[0]);
        p.put(StreamsConfig.APPLICATION_ID_CONFIG, a[1]);
        p.put(StreamsConfig.CLIENT_ID_CONFIG, name);
        p.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
        p.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, "100");
        p.put(StreamsConfig.REPLICATION_FACTOR_CONFIG, "1");
        p.put(StreamsConfig.STATE_DIR_CONFIG, Files.createTempDirectory("streams").toString());
        p.put("reconnect.backoff.max.ms", "200");
        p.put(StreamsConfig.consumerPrefix("session.timeout.ms"), a[6]);
        p.put(StreamsConfig.consumerPrefix("heartbeat.interval.ms"), a[7]);
        p.put(StreamsConfig.consumerPrefix("auto.offset.reset"), "earliest");
        p.put(StreamsConfig.producerPrefix("transaction.timeout.ms"), a[11]);
        return p;
    }

    private static Topology topology(String input, String output, int partitions) {
        StreamPartitioner<byte[], String> route = (topic, key, value, n) -> {
            String[] words = value.split(" ");
            return Optional.of(Collections.singleton((Integer.parseInt(words[0]) + Integer.parseInt(words[1])) % partitions));
        };
        Topology t = new Topology();
        t.addSource("inputs", new ByteArrayDeserializer(), new StringDeserializer(), input);
        t.addProcessor("counter", Counter::new, "inputs");
        t.addStateStore(Stores.keyValueStoreBuilder(Stores.inMemoryKeyValueStore(STORE), Serdes.String(), Serdes.Integer()), "counter");
        t.addSink("outputs", output, new ByteArraySerializer(), new StringSerializer(), route, "counter");
        return t;
    }

    private static class Counter implements Processor<byte[], String, byte[], String> {
        private ProcessorContext<byte[], String> context;
        private KeyValueStore<String, Integer> counts;

        @Override
        public void init(ProcessorContext<byte[], String> given) {
            context = given;
            counts = given.getStateStore(STORE);
        }

        @Override
        public void process(Record<byte[], String> r) {
            String[] words = r.value().split(" ");
            if (words.length != 2) {
                throw new IllegalStateException(r.value());
            }
            Integer before = counts.get(words[0]);
            int count = before == null ? 1 : before + 1;
            counts.put(words[0], count);
            context.forward(r.withValue(r.value() + " " + name + " - " + count));
            if (System.currentTimeMillis() - said > SAY_EVERY_MS) {
                said = System.currentTimeMillis();
                say("handled");
            }
        }
    }

    private static synchronized void say(String what) {
        Instant now = Instant.now();
        System.out.println(now.getEpochSecond() * 1_000_000 + now.getNano() / 1000 + " " + what.replaceAll("\\s+", " "));
        System.out.flush();
    }
}
