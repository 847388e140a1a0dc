// Package offsets plays the scripts by which the group coordinator's offsets are tested to whole brokers over the wire: to a
// real Kafka, so that the answers written in them are known to be Kafka's, and to ours.
package offsets

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/scripts"
	"github.com/skeinstream/skein/interop/internal/admin"
	"github.com/skeinstream/skein/interop/internal/report"
	"github.com/skeinstream/skein/interop/internal/root"
	"github.com/skeinstream/skein/interop/internal/skein"
	"github.com/skeinstream/skein/interop/internal/target"
	"github.com/skeinstream/skein/interop/internal/wire"
	"github.com/skeinstream/skein/interop/kafka"
)

func TestMain(m *testing.M) { report.Main(m) }

// dir is the directory of the coordinator's own tests, where the commands are explained.
const dir = "internal/group/testdata/offsets"

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
		if err := wire.WarmUp(ctx, a); err != nil {
			t.Fatal(err)
		}
	}
	commands := 0
	for _, f := range scripts.Files(t, filepath.Join(source, filepath.FromSlash(dir))) {
		if !slices.Contains(played(), f.Name) {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			p := newPlayer(ctx, t, addr, f.Name+"-")
			if strings.Contains(f.Text, "\nsettings delay\n") {
				p = newPlayer(ctx, t, delayed, f.Name+"-")
			}
			commands += p.play(f.Commands())
		})
	}
	report.Note(t, report.Shown, name, "answers %d commands of %d offset scripts as they say", commands, len(played()))
}

// play runs a script's commands and compares the answers with the lines below each. Lines of one command are compared in any
// order: nobody promises which of two parked callers is answered first, or in which order topics are.
func (p *player) play(commands []scripts.Command) (n int) {
	for _, c := range commands {
		want := make([]string, len(c.Want))
		for i, line := range c.Want {
			want[i] = withoutID(line)
		}
		got, ran := p.run(c.Words, len(want))
		if !ran {
			continue
		}
		n++
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			p.t.Errorf("line %d: %s\nanswered %q\nthe script says %q", c.Line, c.Text, got, want)
		}
	}
	return n
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
