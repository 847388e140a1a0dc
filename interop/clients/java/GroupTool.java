import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.apache.kafka.common.utils.internals.Exit;
import org.apache.kafka.tools.consumer.group.ConsumerGroupCommand;

/**
 * Kafka's kafka-consumer-groups, many times in one Java machine: a line of
 * arguments parted by tabs is answered by all that the tool prints, its exit
 * code, and a line with a dot.
 */
public class GroupTool {
    public static void main(String[] args) throws Exception {
        PrintStream answers = System.out;
        Exit.setExitProcedure((code, message) -> { throw new Ended(code); });
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = commands.readLine()) != null; ) {
            ByteArrayOutputStream printed = new ByteArrayOutputStream();
            PrintStream all = new PrintStream(printed, true, "UTF-8");
            System.setOut(all);
            System.setErr(all);
            int code = 0;
            try {
                ConsumerGroupCommand.main(line.split("\t"));
            } catch (Ended e) {
                code = e.code;
            }
            answers.println(printed.toString("UTF-8").trim());
            answers.println("exit " + code);
            answers.println(".");
            answers.flush();
        }
    }

    private static class Ended extends RuntimeException {
        private final int code;
        Ended(int code) { this.code = code; }
    }
}
