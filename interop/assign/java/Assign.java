import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;

// Answers questions about groups with Kafka's own classes, one line an answer:
//
//   topic NAME COUNT RACKS        metadata of the group that comes; RACKS is, by partition
//   member ID INSTANCE BYTES      and joined with ';', racks joined with ','; '-' is nothing
//   assign NAME                   the assignment bytes of every member, in order of their ids
//   end                           the group is done
//   subscription VERSION BYTES    the bytes, decoded and encoded again in that version
//   assignment VERSION BYTES      likewise
//   sticky GENERATION BYTES       sticky user data of a member that got this assignment
//   cooperative GENERATION        cooperative-sticky user data
//
// IDs, names and bytes are in hex.
public class Assign {
    static final Map<String, ConsumerPartitionAssignor> ASSIGNORS = Map.of(
        "range", new RangeAssignor(), "roundrobin", new RoundRobinAssignor(),
        "sticky", new StickyAssignor(), "cooperative-sticky", new CooperativeStickyAssignor());

    static List<PartitionInfo> partitions = new ArrayList<>();
    static Map<String, Subscription> members = new TreeMap<>();

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        PrintStream out = new PrintStream(System.out, false, "US-ASCII");
        for (String line; (line = in.readLine()) != null; ) {
            String answer;
            try {
                answer = answer(line.split(" "));
            } catch (Exception e) {
                answer = "error " + e.toString().replace('\n', ' ');
            }
            if (answer != null)
                out.println(answer);
        }
        out.flush();
    }

    static String answer(String[] w) {
        switch (w[0]) {
            case "topic": topic(text(w[1]), Integer.parseInt(w[2]), w[3]); return null;
            case "member": member(text(w[1]), w[2], buffer(w[3])); return null;
            case "assign": return assign(ASSIGNORS.get(w[1]));
            case "end": partitions.clear(); members.clear(); return null;
            case "subscription":
                return hex(ConsumerProtocol.serializeSubscription(ConsumerProtocol.deserializeSubscription(buffer(w[2])), Short.parseShort(w[1])));
            case "assignment":
                return hex(ConsumerProtocol.serializeAssignment(ConsumerProtocol.deserializeAssignment(buffer(w[2])), Short.parseShort(w[1])));
            case "sticky": return userData(new StickyAssignor(), w[1], ConsumerProtocol.deserializeAssignment(buffer(w[2])));
            case "cooperative": return userData(new CooperativeStickyAssignor(), w[1], new Assignment(Collections.emptyList()));
            default: throw new IllegalArgumentException(w[0]);
        }
    }

    static void topic(String name, int count, String racks) {
        String[] byPartition = racks.split(";", -1);
        for (int p = 0; p < count; p++) {
            List<Node> replicas = new ArrayList<>();
            if (p < byPartition.length)
                for (String rack : byPartition[p].split(","))
                    if (!rack.equals("-"))
                        replicas.add(new Node(replicas.size() + 1, "h", 1, rack));
            Node[] nodes = replicas.toArray(new Node[0]);
            partitions.add(new PartitionInfo(name, p, null, nodes, nodes));
        }
    }

    static void member(String id, String instance, ByteBuffer bytes) {
        Subscription s = ConsumerProtocol.deserializeSubscription(bytes);
        s.setGroupInstanceId(instance.equals("-") ? Optional.empty() : Optional.of(text(instance)));
        members.put(id, s);
    }

    static String assign(ConsumerPartitionAssignor assignor) {
        Cluster cluster = new Cluster("c", Collections.emptyList(), partitions, Set.of(), Set.of());
        Map<String, Assignment> plan = assignor.assign(cluster, new GroupSubscription(members)).groupAssignment();
        StringBuilder line = new StringBuilder();
        for (String id : members.keySet()) {
            List<TopicPartition> list = new ArrayList<>(plan.get(id).partitions());
            list.sort(Comparator.comparing(TopicPartition::topic).thenComparing(TopicPartition::partition));
            line.append(line.length() == 0 ? "" : " ").append(hex(ConsumerProtocol.serializeAssignment(new Assignment(list))));
        }
        return line.toString();
    }

    static String userData(ConsumerPartitionAssignor assignor, String generation, Assignment a) {
        assignor.onAssignment(a, new ConsumerGroupMetadata("g", Integer.parseInt(generation), "m", Optional.empty()));
        return hex(assignor.subscriptionUserData(Set.of()));
    }

    static String text(String hex) { return new String(HexFormat.of().parseHex(hex), StandardCharsets.UTF_8); }

    static ByteBuffer buffer(String hex) { return ByteBuffer.wrap(HexFormat.of().parseHex(hex)); }

    static String hex(ByteBuffer b) {
        byte[] bytes = new byte[b.remaining()];
        b.duplicate().get(bytes);
        return HexFormat.of().formatHex(bytes);
    }
}
