package cli

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/skeinstream/skein/internal/transcript"
)

// onKafka are sessions at another broker than Skein; interop goes through them.
const onKafka = "at Apache Kafka"

func sessionsOf(t *testing.T, page string) []transcript.Session {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	sessions, err := transcript.Parse(string(text))
	if err != nil || len(sessions) == 0 {
		t.Fatalf("%d sessions, %v", len(sessions), err)
	}
	return sessions
}

// TestTheGuideToUpgradesIsTrue goes through every session of the guide, at a broker of our own, each at a new one.
func TestTheGuideToUpgradesIsTrue(t *testing.T) {
	for _, s := range sessionsOf(t, "../docs/guide/upgrade.md") {
		if s.Title == onKafka {
			continue
		}
		t.Run(fmt.Sprint("line ", s.Line), func(t *testing.T) {
			t.Parallel()
			g := &guide{cluster: startGroupCluster(t)}
			for _, step := range s.Steps {
				g.take(step)
			}
		})
	}
}

// TestTheGuideToExactlyOnceIsTrue goes through its sessions, at a broker where a worker has a transaction open.
func TestTheGuideToExactlyOnceIsTrue(t *testing.T) {
	for _, s := range sessionsOf(t, "../docs/guide/exactly-once.md") {
		t.Run(fmt.Sprint("line ", s.Line), func(t *testing.T) {
			g := &guide{cluster: startGroupCluster(t)}
			g.do("topic", "create", "invoices")
			g.begun("billing-worker-1", "invoices")
			for _, step := range s.Steps {
				g.take(step)
			}
		})
	}
}

// guide is a shell with jobs.
type guide struct {
	cluster
	jobs []*follower
}

func (g *guide) take(s transcript.Step) {
	g.t.Helper()
	words := strings.Fields(s.Command)
	switch {
	case words[0] == "kill":
		if code := g.jobs[words[1][1]-'1'].ends(); code != 0 {
			g.t.Fatalf("line %d: %s: exit %d", s.Line, s.Command, code)
		}
	case words[0] != "skein":
		g.t.Fatalf("line %d: %q is no command of ours", s.Line, s.Command)
	case s.Background:
		job := g.follow(words[2:]...)
		g.jobs = append(g.jobs, job)
		for g.t.Context().Err() == nil && !strings.Contains(job.err.String(), "generation") {
			if len(job.code) > 0 {
				g.t.Fatalf("line %d: %s: exit %d: %s", s.Line, s.Command, job.waits(), job.err)
			}
			g.do("version") // a moment
		}
	default:
		g.prints(s, words[1:])
	}
}

// prints runs a command until it prints what it should: members take a moment to hear of each other.
func (g *guide) prints(s transcript.Step, words []string) {
	g.t.Helper()
	out := ""
	for range 200 {
		sh := g.shell("")
		sh.run(g.t.Context(), words...)
		if out = sh.stdout.String() + sh.stderr.String(); s.Missing(out) == "" {
			return
		}
	}
	g.t.Fatalf("line %d: %s: no %q in\n%s", s.Line, s.Command, s.Missing(out), out)
}
