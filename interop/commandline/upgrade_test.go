package commandline

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
	err    error
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
