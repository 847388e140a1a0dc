// Package offsets plays the scripts by which the group coordinator's offsets are tested to whole brokers over the wire: to a
// real Kafka, so that the answers written in them are known to be Kafka's, and to ours.
package offsets

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/interop/internal/admin"
	"github.com/skeinstream/skein/interop/internal/report"
	"github.com/skeinstream/skein/interop/internal/root"
	"github.com/skeinstream/skein/interop/internal/skein"
	"github.com/skeinstream/skein/interop/internal/target"
	"github.com/skeinstream/skein/interop/kafka"
)

func TestMain(m *testing.M) { report.Main(m) }

// scripts is the directory of the coordinator's own tests, where the commands are explained.
const scripts = "broker/internal/group/testdata/offsets"

// played are the scripts that need neither hours nor a look inside. Commands that do are passed over: all that a script
// tells after such a command must hold without it too.
func played() []string {
	return []string{"commit_simple", "commit_states", "commit_late", "commit_static", "commit_metadata", "commit_offsets",
		"fetch", "delete_offsets", "delete_unreadable", "delete_other_types", "delete_group", "delete_rounds"}
}

func TestScriptsOnKafka(t *testing.T) {
	b := target.Kafka(t, kafka.Options{Settings: settings("0")})
	delayed := target.Kafka(t, kafka.Options{Settings: settings("3000")})
	playAll(t, "kafka", b.Addr, delayed.Addr)
}

func TestScriptsOnSkein(t *testing.T) {
	var addr []string
	for _, delay := range []string{"0", "3000"} {
		b, err := skein.Start(t, skein.Options{Settings: settings(delay)})
		if err != nil {
			t.Fatal(err)
		}
		addr = append(addr, b.Addr)
	}
	if served, err := admin.Advertises(t.Context(), addr[0], kmsg.OffsetCommit.Int16()); err != nil || !served {
		report.Note(t, report.Lacks, "skein", "no OffsetCommit yet: no script was played (%v)", err)
		t.SkipNow()
	}
	playAll(t, "skein", addr[0], addr[1])
}

func settings(delay string) map[string]string {
	return map[string]string{"group.initial.rebalance.delay.ms": delay, "offsets.topic.num.partitions": "3"}
}

// playAll plays every script; delayed is the address of a broker that delays the first round of groups.
func playAll(t *testing.T, name, addr, delayed string) {
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	for _, a := range []string{addr, delayed} {
		if err := admin.CreateTopics(ctx, a, 10, nil, "t", "u", "x"); err != nil {
			t.Fatal(err)
		}
	}
	source, err := root.Skein()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range []string{addr, delayed} {
		warmUp(ctx, t, a)
	}
	commands := 0
	for _, script := range played() {
		t.Run(script, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(source, filepath.FromSlash(scripts), script+".txt"))
			if err != nil {
				t.Fatal(err)
			}
			p := &player{t: t, ctx: ctx, addr: addr, prefix: script + "-", ids: map[string]string{}}
			if strings.Contains(string(text), "\nsettings delay\n") {
				p.addr = delayed
			}
			commands += p.play(strings.Split(string(text), "\n"))
		})
	}
	report.Note(t, report.Shown, name, "answers %d commands of %d offset scripts as they say", commands, len(played()))
}

// play runs a script's commands and compares the answers with the lines below each. Lines of one command are compared in any
// order: nobody promises which of two parked callers is answered first, or in which order topics are.
func (p *player) play(lines []string) (commands int) {
	for n := 0; n < len(lines); n++ {
		line := lines[n]
		if line == "" || line[0] == '#' || line[0] == ' ' {
			continue
		}
		var want []string
		for _, l := range lines[n+1:] {
			if !strings.HasPrefix(l, "  ") {
				break
			}
			want = append(want, withoutID(strings.TrimSpace(l)))
		}
		got, ran := p.run(strings.Fields(line))
		if !ran {
			continue
		}
		commands++
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			p.t.Errorf("line %d: %s\nanswered %q\nthe script says %q", n+1, line, got, want)
		}
	}
	return commands
}

// player plays one script. Groups of the script get a prefix, so that scripts share a broker.
type player struct {
	t      *testing.T
	ctx    context.Context
	addr   string
	prefix string
	ids    map[string]string // member ids by name, as their answers have told
	parked []chan answer
}

// settled is how long a caller who is parked is given to be answered by what came after.
const settled = 500 * time.Millisecond

// run runs a command; it reports false for one that is passed over.
func (p *player) run(words []string) ([]string, bool) {
	c := parse(words[1:])
	if words[0] == "advance" && len(p.parked) > 0 {
		return p.answers(10 * time.Second), true
	}
	ask := p.asker(words[0], c)
	if ask == nil {
		return nil, false
	}
	answered := make(chan answer, 1)
	p.parked = append(p.parked, answered)
	go func() { answered <- ask() }()
	return p.answers(settled), true
}

// answer is what a request was answered, in the words of the scripts.
type answer struct {
	lines   []string
	who, id string // of a Join
}

// answers collects what comes until nobody waits any more, or for a while.
func (p *player) answers(patience time.Duration) (all []string) {
	for end := time.Now().Add(patience); len(p.parked) > 0; {
		p.parked = slices.DeleteFunc(p.parked, func(c chan answer) bool {
			select {
			case a := <-c:
				all = append(all, a.lines...)
				if a.who != "" {
					p.ids[a.who] = a.id
				}
				return true
			default:
				return false
			}
		})
		if time.Now().After(end) {
			break
		}
		<-time.After(5 * time.Millisecond)
	}
	return all
}

// warmUp waits until the topic of the groups is there and loaded.
func warmUp(ctx context.Context, t *testing.T, addr string) {
	t.Helper()
	for _, group := range []string{"a", "b", "c", "d", "e", "f", "g"} { // of all partitions
		p := &player{t: t, ctx: ctx, addr: addr, prefix: "warm-", ids: map[string]string{}}
		p.run([]string{"commit", group, "t/0=1"})
		for len(p.parked) > 0 {
			p.answers(time.Second)
			if ctx.Err() != nil {
				t.Fatal("the coordinator does not answer")
			}
		}
	}
}

// withoutID takes the topic's id out of an answer: by name, nobody is told it.
func withoutID(line string) string {
	before, after, found := strings.Cut(line, " id ")
	if !found {
		return line
	}
	_, rest, _ := strings.Cut(after, " ")
	return strings.TrimSpace(before + " " + rest)
}
