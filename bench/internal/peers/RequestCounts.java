import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.Map;
import java.util.TreeMap;
import javax.management.MBeanServerConnection;
import javax.management.ObjectName;
import javax.management.remote.JMXConnectorFactory;
import javax.management.remote.JMXServiceURL;

/** Says, for each line that it reads, how many requests of each API a broker has answered: "Fetch 7 Produce 3 ...". Argument: its JMX port. */
public class RequestCounts {
    public static void main(String[] args) throws Exception {
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in));
        MBeanServerConnection broker = null;
        while (questions.readLine() != null) {
            if (broker == null) {
                broker = connect(args[0]);
            }
            StringBuilder line = new StringBuilder();
            counts(broker).forEach((api, n) -> line.append(api).append(' ').append(n).append(' '));
            System.out.println(line.toString().trim());
            System.out.flush();
        }
    }

    private static MBeanServerConnection connect(String port) throws IOException {
        JMXServiceURL url = new JMXServiceURL("service:jmx:rmi:///jndi/rmi://127.0.0.1:" + port + "/jmxrmi");
        return JMXConnectorFactory.connect(url).getMBeanServerConnection();
    }

    private static Map<String, Long> counts(MBeanServerConnection broker) throws Exception {
        Map<String, Long> found = new TreeMap<>();
        for (ObjectName name : broker.queryNames(new ObjectName("kafka.network:type=RequestMetrics,name=RequestsPerSec,*"), null)) {
            found.merge(name.getKeyProperty("request"), (Long) broker.getAttribute(name, "Count"), Long::sum);
        }
        return found;
    }
}
