package commandline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/skeinstream/skein/internal/transcript"
	"github.com/skeinstream/skein/interop/internal/root"
	"github.com/skeinstream/skein/interop/kafka"
)

// atKafka is the title of the guide's sessions at another broker than Skein.
const atKafka = "at Apache Kafka"

// TestTheGuideToUpgrades goes through its sessions with the command itself: those at Apache Kafka there, the others at the broker under test.
func TestTheGuideToUpgrades(t *testing.T) {
	source, err := root.Skein()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(source, "docs", "guide", "upgrade.md"))
	if err != nil {
		t.Fatal(err)
	}
	sessions, err := transcript.Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	titles := map[string]int{}
	for _, s := range sessions {
		titles[s.Title]++
		t.Run(fmt.Sprint("line ", s.Line), func(t *testing.T) {
			on := underTest
			if s.Title == atKafka {
				on = kafka.V4
			}
			g := &guide{both: newBothWith(t, on, map[string]string{"group.initial.rebalance.delay.ms": "0"})}
			for _, step := range s.Steps {
				g.take(step)
			}
		})
	}
	if titles[atKafka] == 0 || titles[""] == 0 {
		t.Errorf("sessions: %v", titles)
	}
}

// guide is a shell with jobs.
type guide struct {
	both
	jobs []*job
}

func (g *guide) take(s transcript.Step) {
	g.t.Helper()
	words := strings.Fields(s.Command)
	switch {
	case words[0] == "kill":
		g.jobs[words[1][1]-'1'].ends()
	case words[0] != "skein":
		g.t.Fatalf("line %d: %q is no command of ours", s.Line, s.Command)
	case s.Background:
		j := g.begin(words[1:]...)
		j.until("generation")
		g.jobs = append(g.jobs, j)
	default:
		g.prints(s, words[1:])
	}
}

// prints runs a command until it prints what it should: members take a moment to hear of each other.
func (g *guide) prints(s transcript.Step, words []string) {
	g.t.Helper()
	out := ""
	for began := time.Now(); time.Since(began) < time.Minute; {
		if out, _ = g.run(g.t, "", nil, words...); s.Missing(out) == "" {
			return
		}
	}
	g.t.Fatalf("line %d: %s: no %q in\n%s", s.Line, s.Command, s.Missing(out), out)
}

// job is a command that runs beside the test.
type job struct {
	t      *testing.T
	cmd    *exec.Cmd
	said   *said
	ended  chan error
	signal sync.Once
}

// said is what a job has printed so far.
type said struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func (x both) begin(args ...string) *job {
	x.t.Helper()
	j := &job{t: x.t, cmd: exec.Command(x.command, args...), said: &said{}, ended: make(chan error, 1)}
	j.cmd.Dir, j.cmd.Env, j.cmd.Stdout, j.cmd.Stderr = x.dir, x.env, j.said, j.said
	if err := j.cmd.Start(); err != nil {
		x.t.Fatal(err)
	}
	go func() { j.ended <- j.cmd.Wait() }()
	x.t.Cleanup(j.ends)
	return j
}

// ends stops a job as a supervisor does, with SIGTERM, which is its clean end.
func (j *job) ends() {
	j.signal.Do(func() {
		_ = j.cmd.Process.Signal(syscall.SIGTERM)
		if err := <-j.ended; err != nil {
			j.t.Errorf("%v: %v\n%s", j.cmd.Args, err, j.said)
		}
	})
}

// until waits until a job has said something.
func (j *job) until(what string) {
	j.t.Helper()
	for !strings.Contains(j.said.String(), what) {
		select {
		case err := <-j.ended:
			j.ended <- err
			j.t.Fatalf("%v: %v, and no %q\n%s", j.cmd.Args, err, what, j.said)
		case <-j.t.Context().Done():
			j.t.Fatalf("%v: no %q\n%s", j.cmd.Args, what, j.said)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// memberLine is a line of consume --group --json.
type memberLine struct {
	Event      string             `json:"event"`
	Generation int32              `json:"generation"`
	Protocol   string             `json:"protocol"`
	Assignor   string             `json:"assignor"`
	Partitions map[string][]int32 `json:"partitions"`
	Records    int                `json:"records"`
	Value      string             `json:"value"`
}

func (j *job) lines() (list []memberLine) {
	j.t.Helper()
	for line := range strings.Lines(j.said.String()) {
		var l memberLine
		if strings.HasSuffix(line, "\n") {
			if err := json.Unmarshal([]byte(line), &l); err != nil {
				j.t.Fatalf("%v: %s", err, line)
			}
			list = append(list, l)
		}
	}
	return list
}

// TestConsumeInAGroup: members share what there is, each record is printed once, and the group is where they ended, by Kafka's own tool, too.
func TestConsumeInAGroup(t *testing.T) {
	for _, on := range []string{underTest, kafka.V4} {
		t.Run(on, func(t *testing.T) {
			x := newBothWith(t, on, map[string]string{"group.initial.rebalance.delay.ms": "0"})
			x.skein("topic", "create", "orders", "--partitions", "4")
			one := x.begin("consume", "orders", "--group", "app", "--json", "--heartbeat-interval", "300ms")
			one.until(`"completed"`)
			two := x.begin("consume", "orders", "--group", "app", "--json", "--heartbeat-interval", "300ms")
			two.until(`"orders":[`)
			var in strings.Builder
			for i := range 200 {
				fmt.Fprintf(&in, "k%d:%03d\n", i, i)
			}
			if out, code := x.run(t, in.String(), nil, "produce", "orders", "--key-separator", ":"); code != 0 {
				t.Fatal(out)
			}
			x.skein("consume", "orders", "--group", "app", "--exit-at-end", "--commit-interval", "100ms", "--heartbeat-interval", "300ms")
			one.ends()
			two.ends()
			x.judge(one, two)
			x.has(x.kafka("--describe", "--group", "app", "--offsets"), "orders")
			x.has(x.skein("group", "lag", "app"), "lag of app: 0\n")
		})
	}
}

// judge checks what two members have said; a third one has taken a part of the records, and printed them elsewhere.
func (x both) judge(members ...*job) {
	x.t.Helper()
	seen := map[string]bool{}
	for _, j := range members {
		all := j.lines()
		records := 0
		for _, l := range all {
			if l.Event == "" {
				records++
				if seen[l.Value] {
					x.t.Errorf("%s was printed twice", l.Value)
				}
				seen[l.Value] = true
			}
		}
		if last := all[len(all)-1]; last.Event != "closed" || last.Records != records {
			x.t.Errorf("the last line is %+v, after %d records", last, records)
		}
		if !slices.ContainsFunc(all, func(l memberLine) bool {
			return l.Event == "completed" && l.Protocol == "COOPERATIVE" && l.Assignor == "cooperative-sticky"
		}) {
			x.t.Errorf("it was never COOPERATIVE: %+v", all)
		}
		if !slices.ContainsFunc(all, func(l memberLine) bool { return l.Event == "revoked" && len(l.Partitions["orders"]) > 0 }) {
			x.t.Errorf("it gave nothing up")
		}
	}
}
