// Package members plays the scripts by which the membership of groups is tested to whole brokers over the wire: to a real
// Kafka, so that what is written in them is known to be what Kafka does, and to ours.
package members

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
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

// TestMain lets all scripts run at once, on both brokers: most of the time they wait.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "100"); err != nil {
		panic(err)
	}
	report.Main(m)
}

// dir is the directory of the coordinator's own tests, where the commands are explained.
const dir = "internal/group/testdata/members"

// ours are scripts about what Kafka does not do: docs/differences.md says why.
func ours() []string {
	return []string{"k31_", "c15_", "names", "c1_selection", "d3_size_last", "d3_size_pending", "d13_pending_stable", "d11_static_replaced"}
}

// longest is how much time a script that is played may take.
const longest = 65 * time.Second

// brokers are one for each kind of settings that scripts begin with.
func brokers() map[string]map[string]string {
	of := func(delay, size string) map[string]string {
		return map[string]string{"group.initial.rebalance.delay.ms": delay, "offsets.topic.num.partitions": "3", "group.max.size": size}
	}
	return map[string]map[string]string{
		"":                         of("3000", "2147483647"),
		"settings delay=0s":        of("0", "2147483647"),
		"settings delay=0s size=2": of("0", "2"),
		"settings size=3":          of("3000", "3"),
	}
}

func TestScriptsOnKafka(t *testing.T) {
	t.Parallel()
	addr := map[string]string{}
	for first, settings := range brokers() {
		addr[first] = target.Kafka(t, kafka.Options{Settings: settings}).Addr
	}
	playAll(t, "kafka "+kafka.V4, addr, ours())
}

func TestScriptsOnSkein(t *testing.T) {
	t.Parallel()
	addr := map[string]string{}
	for first, settings := range brokers() {
		b, err := skein.Start(t, skein.Options{Settings: settings})
		if err != nil {
			t.Fatal(err)
		}
		addr[first] = b.Addr
	}
	if served, err := admin.Advertises(t.Context(), addr[""], kmsg.JoinGroup.Int16()); err != nil || !served {
		report.Note(t, report.Lacks, "skein", "no JoinGroup yet: no script was played (%v)", err)
		t.SkipNow()
	}
	playAll(t, "skein", addr, nil)
}

// playAll plays every script for whose settings there is a broker, as far as it needs no restart, all at once: they have groups
// of their own.
func playAll(t *testing.T, name string, addr map[string]string, except []string) {
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	for _, a := range addr {
		if err := admin.CreateTopics(ctx, a, 1, nil, "t"); err != nil {
			t.Fatal(err)
		}
		if err := wire.WarmUp(ctx, a); err != nil {
			t.Fatal(err)
		}
	}
	source, err := root.Skein()
	if err != nil {
		t.Fatal(err)
	}
	var commands, played, again atomic.Int64
	t.Run("all", func(t *testing.T) {
		for _, f := range scripts.Files(t, filepath.Join(source, filepath.FromSlash(dir))) {
			a, served := addr[firstSettings(f)]
			if !served || slices.ContainsFunc(except, func(prefix string) bool { return strings.HasPrefix(f.Name, prefix) }) {
				continue
			}
			t.Run(f.Name, func(t *testing.T) {
				t.Parallel()
				n, times := playScript(ctx, t, a, f)
				commands.Add(int64(n))
				played.Add(1)
				again.Add(int64(times - 1))
			})
		}
	})
	report.Note(t, report.Shown, name, "answers %d commands of %d scripts about members as they say", commands.Load(), played.Load())
	if n := again.Load(); n > 0 {
		t.Logf("the machine was too busy %d times", n)
	}
}

// firstSettings is what a script sets before it begins.
func firstSettings(f scripts.File) string {
	if c := f.Commands()[0]; c.Words[0] == "settings" {
		return c.Text
	}
	return ""
}

// playScript plays a script, until it goes as it is written or has gone otherwise though the player was in time.
func playScript(ctx context.Context, t *testing.T, addr string, f scripts.File) (commands, times int) {
	for times = 1; ; times++ {
		p := newPlayer(ctx, t, addr, fmt.Sprintf("%s-%d-", f.Name, times))
		commands = p.play(f.Commands())
		if len(p.wrong) == 0 {
			return commands, times
		}
		told := strings.Join(p.wrong, "\n") + "\nwhat happened, by the player's clock:\n" + strings.Join(p.told, "\n")
		if p.worst < tolerated || times == plays || ctx.Err() != nil {
			t.Errorf("%s\nthe player was behind by %v, in its play %d", told, p.worst, times)
			return commands, times
		}
		t.Logf("%s\nthe player was behind by %v: once more", told, p.worst)
	}
}

// play runs the commands and compares what happens with the lines below each, in any order: nobody promises which of two
// parked callers is answered first, nor the order of members.
func (p *player) play(commands []scripts.Command) (n int) {
	for _, c := range commands {
		var want, states []string
		for _, line := range c.Want {
			if line = moment.ReplaceAllString(line, ""); isState.MatchString(line) {
				states = append(states, line)
			} else {
				want = append(want, line)
			}
		}
		switch c.Words[0] {
		case "settings":
			if n == 0 {
				continue
			}
			return n // what follows is another story
		case "restart":
			return n
		case "at":
			if scripts.Duration(p.t, c.Words[1]) > longest {
				return n
			}
		case "records", "notes", "history", "lists", "waiting", "count", "list":
			continue
		}
		n++
		got := p.run(c.Words, len(want))
		p.told = append(p.told, fmt.Sprintf("%8.3fs line %d: %.100s: %.300q", time.Since(p.began).Seconds(), c.Line, c.Text, got))
		p.learn(want)
		if got, want := normal(got), normal(want); !slices.Equal(got, want) {
			p.mistaken(c, got, want)
		}
		for _, s := range states {
			p.checkState(c, s)
		}
	}
	return n
}
