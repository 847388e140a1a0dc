// Package members plays the scripts by which the membership of groups is tested to whole brokers over the wire: to a real
// Kafka, so that what is written in them is known to be what Kafka does, and to ours.
package members

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
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

// TestMain lets all scripts run at once: most of the time they wait.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "100"); err != nil {
		panic(err)
	}
	report.Main(m)
}

// scripts is the directory of the coordinator's own tests, where the commands are explained.
const scripts = "broker/internal/group/testdata/members"

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
	addr := map[string]string{}
	for first, settings := range brokers() {
		addr[first] = target.Kafka(t, kafka.Options{Settings: settings}).Addr
	}
	playAll(t, "kafka "+kafka.V4, addr, ours())
}

func TestScriptsOnSkein(t *testing.T) {
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
		warmUp(ctx, t, a)
	}
	source, err := root.Skein()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(source, filepath.FromSlash(scripts), "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	var commands, played atomic.Int64
	t.Run("all", func(t *testing.T) {
		for _, file := range files {
			script := strings.TrimSuffix(filepath.Base(file), ".txt")
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(string(text), "\n")
			a, served := addr[firstSettings(lines)]
			if !served || slices.ContainsFunc(except, func(prefix string) bool { return strings.HasPrefix(script, prefix) }) {
				continue
			}
			t.Run(script, func(t *testing.T) {
				t.Parallel()
				p := &player{t: t, ctx: ctx, addr: a, prefix: script + "-", began: time.Now(), actors: map[string]*actor{}, ids: map[string]string{}}
				commands.Add(int64(p.play(lines)))
				played.Add(1)
			})
		}
	})
	report.Note(t, report.Shown, name, "answers %d commands of %d scripts about members as they say", commands.Load(), played.Load())
}

// firstSettings is what a script sets before it begins.
func firstSettings(lines []string) string {
	for _, l := range lines {
		if strings.HasPrefix(l, "settings ") {
			return l
		}
		if l != "" && l[0] != '#' {
			break
		}
	}
	return ""
}

// play runs the commands and compares what happens with the lines below each, in any order: nobody promises which of two
// parked callers is answered first, nor the order of members.
func (p *player) play(lines []string) (commands int) {
	for n := 0; n < len(lines); n++ {
		words := strings.Fields(lines[n])
		if len(words) == 0 || lines[n][0] == '#' || lines[n][0] == ' ' || commands == 0 && words[0] == "settings" {
			continue
		}
		var want []string
		for _, l := range lines[n+1:] {
			if !strings.HasPrefix(l, "  ") {
				break
			}
			want = append(want, moment.ReplaceAllString(strings.TrimSpace(l), ""))
		}
		switch words[0] {
		case "restart", "settings":
			return commands // what follows is another story
		case "at":
			if d, err := time.ParseDuration(words[1]); err != nil || d > longest {
				return commands
			}
		case "records", "notes", "history", "waiting", "count", "list":
			continue
		}
		commands++
		states := slices.DeleteFunc(slices.Clone(want), func(l string) bool { return !isState.MatchString(l) })
		want = slices.DeleteFunc(want, isState.MatchString)
		got := p.run(words, len(want))
		p.learn(want, got)
		if got, want := normal(got), normal(want); !slices.Equal(got, want) {
			p.t.Errorf("line %d: %s\nanswered %q\nthe script says %q", n+1, lines[n], got, want)
		}
		for _, s := range states {
			p.checkState(n+1, s)
		}
	}
	return commands
}

var (
	isState  = regexp.MustCompile(`^(\S+) is (Empty|PreparingRebalance|CompletingRebalance|Stable|gone)\b`)
	scriptID = regexp.MustCompile(`\b([a-z][a-z0-9]*)(?:-\d+)+\b`)
	uuid     = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	moment   = regexp.MustCompile(`^(?:\d+m)?(?:[\d.]+s|\d+ms) `)
	message  = regexp.MustCompile(`GROUP_ID_NOT_FOUND .*`)
)

// normal makes lines comparable: ids without what is random in them, members in order.
func normal(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		l = message.ReplaceAllString(uuid.ReplaceAllString(l, "0"), "GROUP_ID_NOT_FOUND")
		l = scriptID.ReplaceAllString(l, "$1-#")
		if before, members, found := strings.Cut(l, ", leads "); found {
			members, rest, _ := strings.Cut(members, ", ")
			all := strings.Fields(members)
			slices.Sort(all)
			l = before + ", leads " + strings.Join(all, " ") + ", " + rest
		}
		out[i] = l
	}
	slices.Sort(out)
	return out
}

// learn remembers which real id stands for which of the script's.
func (p *player) learn(want, got []string) {
	for _, w := range want {
		who, _, _ := strings.Cut(w, ":")
		a := p.actors[who]
		if id := toldID.FindStringSubmatch(w); id != nil && a != nil && a.id != "" {
			p.ids[id[1]] = a.id
		}
	}
}

var toldID = regexp.MustCompile(`(?:MEMBER_ID_REQUIRED|generation \d+ of \S+ as) (\S+?)(?:,|$)`)

// checkState compares the state of a group and the number of its members.
func (p *player) checkState(line int, want string) {
	group := strings.Fields(want)[0]
	began := time.Now()
	defer func() { p.began = p.began.Add(time.Since(began)) }()
	for end := time.Now().Add(late); ; {
		d := p.describe(group, 5)
		got := fmt.Sprintf("%s is %s, %d members", group, d.State, len(d.Members))
		if d.State == "Dead" {
			got = group + " is gone"
		}
		plain := generation.ReplaceAllString(want, "")
		if got == plain {
			return
		}
		if time.Now().After(end) {
			p.t.Errorf("line %d: %s, and the script says %s", line, got, plain)
			return
		}
		<-time.After(20 * time.Millisecond)
	}
}

var generation = regexp.MustCompile(` generation \d+,`)

// warmUp waits until the topic of the groups is there and loaded.
func warmUp(ctx context.Context, t *testing.T, addr string) {
	t.Helper()
	for _, group := range []string{"a", "b", "c", "d", "e", "f", "g"} { // of all partitions
		for {
			r := &kmsg.FindCoordinatorRequest{Version: 4, CoordinatorKeys: []string{group}}
			found, err := ask[*kmsg.FindCoordinatorResponse](ctx, addr, "warm", r)
			if err == nil && found.Coordinators[0].ErrorCode == 0 {
				d, err := ask[*kmsg.DescribeGroupsResponse](ctx, addr, "warm", &kmsg.DescribeGroupsRequest{Version: 5, Groups: []string{group}})
				if err == nil && d.Groups[0].ErrorCode == 0 {
					break
				}
			}
			if ctx.Err() != nil {
				t.Fatalf("the coordinator does not answer: %v", err)
			}
			<-time.After(100 * time.Millisecond)
		}
	}
}
