import com.sun.management.ThreadMXBean;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.internals.AbstractStickyAssignor;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;
import org.apache.kafka.coordinator.group.assignor.UniformAssignor;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.GroupSpecImpl;
import org.apache.kafka.coordinator.group.modern.MemberSubscriptionAndAssignmentImpl;

// Times Kafka's own sticky assignors on a group from standard input:
//
//   client or server, how many milliseconds to spend, and whether to count the
//   processor time of the thread instead of the time that passes
//   the partitions of every topic
//   for each member: its topics; then what it has, TOPIC:PARTITION,PARTITION ...
//
// and prints the times in nanoseconds (first, best, median), the number of
// calls, the bytes one call allocates, and in a second line who gets each partition.
// What an assignor is given is made beforehand, in the form the broker or the
// client has it in; names are shared between members, as in Kafka itself.
public class Bench {
    // The client's sticky placement without the cooperative adjustment.
    static class Sticky extends AbstractStickyAssignor {
        @Override public String name() { return "bench"; }
        @Override protected MemberData memberData(Subscription s) {
            return new MemberData(s.ownedPartitions(), Optional.of(1));
        }
    }

    static int[] counts;
    static int[][] wants;
    static Map<Integer, int[]>[] has;

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in), 1 << 20);
        String[] head = in.readLine().split(" ");
        read(in);
        Runner run = head[0].equals("client") ? client() : server();
        measure(run, Long.parseLong(head[1]) * 1_000_000, Boolean.parseBoolean(head[2]));
    }

    interface Runner {
        Object call();
        int[] owners(Object plan);
    }

    @SuppressWarnings("unchecked")
    static void read(BufferedReader in) throws Exception {
        counts = ints(in.readLine(), " ");
        List<int[]> topics = new ArrayList<>();
        List<Map<Integer, int[]>> owned = new ArrayList<>();
        for (String line; (line = in.readLine()) != null; ) {
            topics.add(ints(line, " "));
            Map<Integer, int[]> map = new HashMap<>();
            for (String part : in.readLine().split(" "))
                if (!part.isEmpty()) {
                    String[] p = part.split(":");
                    map.put(Integer.parseInt(p[0]), ints(p[1], ","));
                }
            owned.add(map);
        }
        wants = topics.toArray(new int[0][]);
        has = owned.toArray(new Map[0]);
    }

    static int[] ints(String line, String by) {
        if (line.isEmpty())
            return new int[0];
        return Arrays.stream(line.split(by)).mapToInt(Integer::parseInt).toArray();
    }

    static void measure(Runner run, long budget, boolean processor) {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long id = Thread.currentThread().getId();
        List<Long> times = new ArrayList<>();
        long spent = 0, allocated = 0, first = 0;
        Object plan = null;
        while (times.size() < 2 || spent < budget) {
            long bytes = threads.getThreadAllocatedBytes(id), began = processor ? threads.getCurrentThreadCpuTime() : System.nanoTime();
            plan = run.call();
            long took = (processor ? threads.getCurrentThreadCpuTime() : System.nanoTime()) - began;
            allocated = threads.getThreadAllocatedBytes(id) - bytes;
            if (times.isEmpty())
                first = took;
            times.add(took);
            spent += took;
            if (spent > 3 * budget || times.size() == 100_000)
                break;
        }
        Collections.sort(times);
        System.out.println(first + " " + times.get(0) + " " + times.get(times.size() / 2) + " " + times.size() + " " + allocated);
        StringBuilder line = new StringBuilder();
        for (int m : run.owners(plan))
            line.append(m).append(' ');
        System.out.println(line.toString().trim());
    }

    static int[] blank() {
        int n = 0;
        for (int c : counts)
            n += c;
        int[] owner = new int[n];
        Arrays.fill(owner, -1);
        return owner;
    }

    static int[] firsts() {
        int[] first = new int[counts.length];
        for (int t = 1; t < counts.length; t++)
            first[t] = first[t - 1] + counts[t - 1];
        return first;
    }

    static Runner client() {
        String[] names = new String[counts.length];
        Map<String, Integer> number = new HashMap<>();
        Map<String, List<PartitionInfo>> topics = new HashMap<>();
        Node[] none = {};
        for (int t = 0; t < counts.length; t++) {
            names[t] = String.format("topic-%06d", t);
            number.put(names[t], t);
            List<PartitionInfo> list = new ArrayList<>();
            for (int p = 0; p < counts[t]; p++)
                list.add(new PartitionInfo(names[t], p, null, none, none));
            if (!list.isEmpty())
                topics.put(names[t], list);
        }
        Map<String, Subscription> members = new HashMap<>();
        Map<String, Integer> place = new HashMap<>();
        for (int m = 0; m < wants.length; m++) {
            List<String> list = new ArrayList<>();
            for (int t : wants[m])
                list.add(names[t]);
            List<TopicPartition> owned = new ArrayList<>();
            has[m].forEach((t, ps) -> { for (int p : ps) owned.add(new TopicPartition(names[t], p)); });
            String id = String.format("member-%06d", m);
            members.put(id, new Subscription(list, null, owned, 1, Optional.empty()));
            place.put(id, m);
        }
        Map<String, List<PartitionInfo>> known = new HashMap<>();
        Set<String> wanted = new HashSet<>();
        members.values().forEach(s -> wanted.addAll(s.topics()));
        topics.forEach((name, list) -> { if (wanted.contains(name)) known.put(name, list); });
        return new Runner() {
            public Object call() { return new Sticky().assignPartitions(known, members); }

            @SuppressWarnings("unchecked")
            public int[] owners(Object plan) {
                int[] owner = blank(), first = firsts();
                ((Map<String, List<TopicPartition>>) plan).forEach((id, list) ->
                    list.forEach(tp -> owner[first[number.get(tp.topic())] + tp.partition()] = place.get(id)));
                return owner;
            }
        };
    }

    static Runner server() {
        Uuid[] ids = new Uuid[counts.length];
        Map<Uuid, Integer> number = new HashMap<>();
        for (int t = 0; t < counts.length; t++) {
            ids[t] = new Uuid(1, t + 1);
            number.put(ids[t], t);
        }
        Map<String, MemberSubscriptionAndAssignmentImpl> members = new HashMap<>();
        Map<String, Integer> place = new HashMap<>();
        Map<Uuid, Map<Integer, String>> inverted = new HashMap<>();
        boolean equal = true;
        Map<String, Set<Uuid>> shared = new HashMap<>();
        for (int m = 0; m < wants.length; m++) {
            int[] sorted = wants[m].clone();
            Arrays.sort(sorted);
            Set<Uuid> topics = shared.computeIfAbsent(Arrays.toString(sorted), k -> {
                Set<Uuid> set = new HashSet<>();
                for (int t : sorted)
                    if (counts[t] > 0) // the server knows no topic without partitions
                        set.add(ids[t]);
                return set;
            });
            equal &= shared.size() == 1;
            String id = String.format("member-%06d", m);
            Map<Uuid, Set<Integer>> owned = new HashMap<>();
            has[m].forEach((t, ps) -> {
                Set<Integer> set = new HashSet<>();
                for (int p : ps) {
                    set.add(p);
                    inverted.computeIfAbsent(ids[t], k -> new HashMap<>()).put(p, id);
                }
                owned.put(ids[t], set);
            });
            members.put(id, new MemberSubscriptionAndAssignmentImpl(Optional.empty(), Optional.empty(), topics, new Assignment(owned)));
            place.put(id, m);
        }
        GroupSpecImpl spec = new GroupSpecImpl(members, equal ? SubscriptionType.HOMOGENEOUS : SubscriptionType.HETEROGENEOUS, inverted);
        SubscribedTopicDescriber describer = new SubscribedTopicDescriber() {
            public int numPartitions(Uuid id) { return counts[number.get(id)] == 0 ? -1 : counts[number.get(id)]; }
            public Set<String> racksForPartition(Uuid id, int partition) { return Set.of(); }
        };
        UniformAssignor assignor = new UniformAssignor();
        return new Runner() {
            public Object call() { return assignor.assign(spec, describer); }

            public int[] owners(Object plan) {
                int[] owner = blank(), first = firsts();
                ((GroupAssignment) plan).members().forEach((id, a) -> a.partitions().forEach((topic, ps) -> {
                    for (int p : ps)
                        owner[first[number.get(topic)] + p] = place.get(id);
                }));
                return owner;
            }
        };
    }
}
