import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.source.SourceConnector;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;

/** A connector whose tasks count: each goes on where the offset that Connect keeps for it says. */
public class TickSource extends SourceConnector {
    private String topic;

    @Override public String version() { return "1"; }
    @Override public ConfigDef config() {
        return new ConfigDef().define("topic", ConfigDef.Type.STRING, ConfigDef.Importance.HIGH, "where to");
    }
    @Override public void start(Map<String, String> config) { topic = config.get("topic"); }
    @Override public void stop() { }
    @Override public Class<? extends Task> taskClass() { return Ticks.class; }

    @Override
    public List<Map<String, String>> taskConfigs(int max) {
        List<Map<String, String>> tasks = new ArrayList<>();
        for (int i = 0; i < max; i++) {
            tasks.add(Map.of("topic", topic, "number", "" + i));
        }
        return tasks;
    }

    public static class Ticks extends SourceTask {
        private String topic;
        private String number;
        private long next;

        @Override public String version() { return "1"; }
        @Override public void stop() { }

        @Override
        public void start(Map<String, String> config) {
            topic = config.get("topic");
            number = config.get("number");
            Map<String, Object> offset = context.offsetStorageReader().offset(source());
            next = offset == null ? 0 : (Long) offset.get("next");
        }

        private Map<String, String> source() { return Collections.singletonMap("task", number); }

        @Override
        public List<SourceRecord> poll() throws InterruptedException {
            Thread.sleep(50);
            String value = "" + next++;
            return List.of(new SourceRecord(source(), Collections.singletonMap("next", next), topic, null,
                Schema.STRING_SCHEMA, number, Schema.STRING_SCHEMA, value));
        }
    }
}
