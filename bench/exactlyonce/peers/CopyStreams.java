import java.nio.file.Files;
import java.time.Duration;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Produced;

/** A worker as a Kafka Streams application that passes records through. Its arguments are those of Copy. */
public class CopyStreams {
    public static void main(String[] a) throws Exception {
        Properties p = new Properties();
        p.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, a[0]);
        p.put(StreamsConfig.APPLICATION_ID_CONFIG, a[1]);
        p.put(StreamsConfig.CLIENT_ID_CONFIG, a[4]);
        p.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, a[5].equals("exactly-once") ? StreamsConfig.EXACTLY_ONCE_V2 : StreamsConfig.AT_LEAST_ONCE);
        p.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, a[6]);
        p.put(StreamsConfig.STATE_DIR_CONFIG, Files.createTempDirectory("streams").toString());
        p.put(StreamsConfig.consumerPrefix("auto.offset.reset"), "earliest");
        p.put(StreamsConfig.consumerPrefix("isolation.level"), "read_committed");
        StreamsBuilder topology = new StreamsBuilder();
        topology.stream(a[2], Consumed.with(Serdes.ByteArray(), Serdes.ByteArray())).to(a[3], Produced.with(Serdes.ByteArray(), Serdes.ByteArray()));
        KafkaStreams streams = new KafkaStreams(topology.build(), p);
        streams.setUncaughtExceptionHandler(problem -> {
            problem.printStackTrace();
            Runtime.getRuntime().halt(1);
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        streams.start();
        while (System.in.read() >= 0) { }
        boolean closed = streams.close(Duration.ofSeconds(60));
        Runtime.getRuntime().halt(closed ? 0 : 1);
    }
}
