package assign

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/skeinstream/skein/interop/internal/admin"
	"github.com/skeinstream/skein/interop/internal/report"
	"github.com/skeinstream/skein/interop/internal/skein"
	"github.com/skeinstream/skein/interop/internal/target"
	"github.com/skeinstream/skein/interop/kafka"
	"github.com/skeinstream/skein/interop/proc"
)

func TestMain(m *testing.M) { report.Main(m) }

// partitions of the topic: an equal number for each of up to six members but five.
const partitions = 24

// patience ends a group that never settles.
const patience = 90 * time.Second

// TestMixedGroups: members of several clients, ours among them, in one group on a
// real Kafka, with each of them as the leader in turn: everybody gets an equal
// part and every partition has one owner, after each member that joins and when
// the leader has left. Where an assignor of ours leads a sticky group, members that stay
// lose nothing but what the newcomer must have.
func TestMixedGroups(t *testing.T) {
	broker := target.Kafka(t, kafka.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := admin.CreateTopics(ctx, broker.Addr, partitions, nil, "shared"); err != nil {
		t.Fatal(err)
	}
	for _, assignor := range allAssignors {
		for i := range starters {
			leader := starters[i]
			if !slices.Contains(leader.knows, assignor) || i > 2 && !strings.Contains(assignor, "sticky") {
				continue // range and roundrobin: ours and Java lead
			}
			t.Run(assignor+" led by "+leader.name, func(t *testing.T) {
				at := place{broker.Addr, fmt.Sprintf("%s-%d", assignor, i), "shared"}
				mix(t, at, assignor, i)
			})
		}
	}
}

// mix lets the leader join, the others one by one, and the leader leave.
func mix(t *testing.T, at place, assignor string, leader int) {
	w := newWatch(t, at)
	var stops []func()
	defer func() {
		for _, stop := range stops {
			stop()
		}
	}()
	had := map[string][]int32{}
	for k := range starters {
		s := starters[(leader+k)%len(starters)]
		if !slices.Contains(s.knows, assignor) {
			continue
		}
		stop, err := s.start(t, at, assignor, s.name)
		if err != nil {
			report.MissingPeer(t, s.name+" in mixed groups", err)
			continue
		}
		stops = append(stops, stop)
		has := w.settled(len(stops))
		if leader < 2 && strings.Contains(assignor, "sticky") {
			checkKept(t, assignor, had, has)
		}
		had = has
		report.Note(t, report.Run, s.name+" in mixed groups", "with every other client")
	}
	if len(stops) > 2 {
		stops[0]()
		stops = stops[1:]
		w.settled(len(stops))
	}
}

// checkKept: whoever was there before has only what it had. franz-go's own sticky
// balancer is left out: under EAGER its members say that they had nothing.
func checkKept(t *testing.T, assignor string, had, has map[string][]int32) {
	t.Helper()
	for id, before := range had {
		if id == "franz-go" && assignor == "sticky" {
			continue
		}
		for _, p := range has[id] {
			if !slices.Contains(before, p) {
				t.Errorf("%s had %v and has %v: a member that stays takes nothing over", id, before, has[id])
			}
		}
	}
}

// watch looks at a group from outside.
type watch struct {
	t     *testing.T
	at    place
	admin *kadm.Client
}

func newWatch(t *testing.T, at place) watch {
	c, err := kgo.NewClient(kgo.SeedBrokers(at.addr))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return watch{t, at, kadm.NewClient(c)}
}

// settled waits until a group of n members has shared everything out, and
// returns who has what.
func (w watch) settled(n int) map[string][]int32 {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	last := "nothing was seen"
	for {
		has, found := w.look(ctx, n)
		if found == "" {
			return has
		}
		if ctx.Err() == nil {
			last = found
		}
		select {
		case <-ctx.Done():
			w.t.Fatalf("%s with %d members never settled: %s", w.at.group, n, last)
		case <-tick.C:
		}
	}
}

// look returns who has what, or what is not yet as it should be.
func (w watch) look(ctx context.Context, n int) (map[string][]int32, string) {
	groups, err := w.admin.DescribeGroups(ctx, w.at.group)
	if err != nil {
		return nil, err.Error()
	}
	g := groups[w.at.group]
	if g.Err != nil || g.State != "Stable" || len(g.Members) != n {
		return nil, fmt.Sprintf("state %s, %d members, error %v", g.State, len(g.Members), g.Err)
	}
	has, seen := map[string][]int32{}, map[int32]bool{}
	for _, m := range g.Members {
		a, ok := m.Assigned.AsConsumer()
		if !ok {
			return nil, m.ClientID + " has an assignment that cannot be read"
		}
		has[m.ClientID] = nil
		for _, t := range a.Topics {
			for _, p := range t.Partitions {
				if seen[p] {
					return nil, fmt.Sprintf("partition %d has two owners", p)
				}
				seen[p] = true
				has[m.ClientID] = append(has[m.ClientID], p)
			}
		}
	}
	for id, list := range has {
		if len(list) < partitions/n || len(list) > (partitions+n-1)/n {
			return has, fmt.Sprintf("%s has %d of %d: %v", id, len(list), partitions, has)
		}
	}
	if len(seen) < partitions {
		return has, fmt.Sprintf("%d of %d are given out", len(seen), partitions)
	}
	return has, ""
}

// TestPlanOfALiveGroup: skein assign plan looks at a live group of Java members on
// a real Kafka, says what a newcomer would change, and changes nothing itself.
func TestPlanOfALiveGroup(t *testing.T) {
	broker := target.Kafka(t, kafka.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	if err := admin.CreateTopics(ctx, broker.Addr, partitions, nil, "shared"); err != nil {
		t.Fatal(err)
	}
	command, err := skein.Build(ctx, t)
	if err != nil {
		t.Fatal(err)
	}
	at := place{broker.Addr, "live", "shared"}
	for _, id := range []string{"one", "two"} {
		stop, err := startJava(t, at, "cooperative-sticky", id)
		if err != nil {
			report.MissingPeer(t, "java in a live group", err)
			return
		}
		defer stop()
	}
	w := newWatch(t, at)
	before := w.settled(2)
	for _, c := range []struct {
		args                     []string
		stay, move, free, rounds int
	}{
		{nil, 24, 0, 0, 1},
		{[]string{"--join", "three"}, 16, 8, 0, 2},
		{[]string{"--leave", "two"}, 12, 0, 12, 1},
		{[]string{"--partitions", "shared=30"}, 24, 0, 6, 1},
	} {
		cmd := exec.CommandContext(ctx, command, append([]string{"assign", "plan", "live", "--bootstrap", at.addr, "--json"}, c.args...)...)
		text, err := proc.Output(cmd)
		if err != nil {
			t.Fatal(err)
		}
		var out struct {
			Stay, Move, Free, Rounds int
			Proven                   bool
		}
		if err := json.Unmarshal([]byte(text), &out); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		if out.Stay != c.stay || out.Move != c.move || out.Free != c.free || out.Rounds != c.rounds || !out.Proven {
			t.Errorf("plan %v: %+v, want %+v", c.args, out, c)
		}
	}
	if after := w.settled(2); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("the group had %v and has %v: looking at it changed it", before, after)
	}
	report.Note(t, report.Shown, "skein assign plan", "a live group of Java members on kafka %s, left as it was", kafka.V4)
}
