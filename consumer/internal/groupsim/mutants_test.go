package groupsim

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/assign"
	"github.com/skeinstream/skein/internal/group"
	"github.com/skeinstream/skein/internal/grouptags"
	"github.com/skeinstream/skein/internal/simulation"
)

// hunt runs scripts with something wrong in them until all that is wanted was found, and says what was found at all.
func hunt(t *testing.T, with seams, script func(seed uint64) *Script, wanted ...string) map[string]int {
	t.Helper()
	with.on = true
	found := map[string]int{}
	missing := func(kind string) bool { return found[kind] == 0 }
	seed := uint64(1)
	for ; seed < 20 || slices.ContainsFunc(wanted, missing) && seed < 1500; seed++ {
		for _, v := range run(script(seed), with, false).Violations {
			found[v.Kind]++
		}
	}
	t.Logf("%d seeds: %v", seed-1, found)
	for _, kind := range slices.DeleteFunc(slices.Clone(wanted), func(k string) bool { return !missing(k) }) {
		t.Errorf("nobody has noticed %s", kind)
	}
	return found
}

// instead is a plan in which other members are in the place of ours.
func instead(code string) func(uint64) *Script {
	return func(seed uint64) *Script {
		d := simulation.NewDice(seed, "plan")
		p := &planner{d: d, s: &Script{Script: simulation.Script{Seed: seed, Broker: "skein", Late: 20, Topics: []simulation.Topic{{Name: "t", Partitions: 4}}}}}
		old, is := "O["+rg+"]", code+"["+cs+","+rg+"]"
		for n := range 3 {
			p.names = append(p.names, string(rune('a'+n)))
			p.line("start %s %s%s", p.names[n], is, simulation.Pick(d, "", fmt.Sprintf(" instance=i%d", n)))
		}
		for range 3 {
			p.settle()
			p.bounces(old)
			p.settle()
			p.bounces(is)
		}
		p.s.Calm = p.now.Round(time.Millisecond)
		return p.s
	}
}

// Ours come through all of it.
func TestOursInstead(t *testing.T) {
	for seed := range uint64(100) {
		if s := instead("D")(seed); len(Run(s, false).Violations) > 0 {
			show(t, s, Run(s, false))
		}
	}
}

// The ways to upgrade in one bounce that were proposed: rows M17, M18 and M19 of R-C.3.
func TestProposedWaysAreWrong(t *testing.T) {
	for _, c := range []struct {
		row, code string
		wanted    []string
		never     string
	}{
		{"M17: follow what was selected", "N", []string{"INV1", "INV2"}, ""},
		{"M18: short circuit only", "C", []string{"INV1"}, "INV2"},
		{"M19: leaders that look", "L", []string{"INV1", "INV2"}, ""},
	} {
		t.Run(c.row, func(t *testing.T) {
			t.Parallel()
			if found := hunt(t, seams{}, instead(c.code), c.wanted...); found[c.never] > 0 {
				t.Errorf("%s, which is not to be wrong", c.never)
			}
		})
	}
}

// Row M21: one name for an EAGER assignor of old code and a COOPERATIVE one of new code (R-C9).
func TestOneNameForTwoProtocols(t *testing.T) {
	of := func(to string) func(uint64) *Script {
		return func(seed uint64) *Script {
			p := &planner{d: simulation.NewDice(seed, "plan"), s: &Script{Script: simulation.Script{Seed: seed, Broker: "kafka", Topics: []simulation.Topic{{Name: "t", Partitions: 5}}}}}
			p.starts(3, func() string { return "O[" + stream + "]" })
			p.settle()
			p.bounces(to)
			p.s.Calm = p.now + 1
			return p.s
		}
	}
	hunt(t, seams{}, of("S["+stream+"]"), "INV1")
	for seed := range uint64(40) {
		if v := Run(of("D["+gated+"]")(seed), false).Violations; len(v) > 0 {
			t.Fatalf("told that old members are there, seed %d: %v", seed, v)
		}
	}
}

// change is a seam that rewrites the subscriptions of a JoinGroup of ours.
func change(subscription func(*assign.Subscription)) seams {
	return seams{request: func(p *process, req any) {
		join, ok := req.(*kmsg.JoinGroupRequest)
		if !ok || p.spec.code != 'D' {
			return
		}
		for i := range join.Protocols {
			s, err := assign.DecodeSubscription(join.Protocols[i].Metadata)
			if err != nil {
				panic(err)
			}
			subscription(&s)
			join.Protocols[i].Metadata = s.Append(nil, assign.HighestVersion)
		}
	}}
}

// Without R-C12: what is to be withheld is offered.
func TestWithholdingOff(t *testing.T) {
	hunt(t, seams{request: func(_ *process, req any) {
		join, ok := req.(*kmsg.JoinGroupRequest)
		if !ok {
			return
		}
		join.UnknownTags.Each(func(_ uint32, b []byte) {
			withheld, _ := grouptags.ReadProtocols(b)
			for _, w := range withheld {
				p := kmsg.NewJoinGroupRequestProtocol()
				p.Name, p.Metadata = w.Name, w.Metadata
				join.Protocols = append(join.Protocols, p)
			}
		})
		join.UnknownTags = kmsg.Tags{}
	}}, instead("D"), "INV1")
}

// Without claims nobody knows what is owned.
func TestClaimsLost(t *testing.T) {
	hunt(t, change(func(s *assign.Subscription) { s.Owned = nil }), instead("D"), "INV1")
}

// planned is a seam that makes another plan of a leader's.
func planned(name string, change func(p *process, in assign.Input, sync *kmsg.SyncGroupRequest)) seams {
	return seams{request: func(p *process, req any) {
		sync, ok := req.(*kmsg.SyncGroupRequest)
		if !ok || len(sync.GroupAssignment) == 0 || *sync.Protocol != name || !p.spec.ours() {
			return
		}
		in := assign.Input{Topics: p.now.planned}
		for _, m := range p.now.members {
			s, err := assign.DecodeSubscription(m.ProtocolMetadata)
			if err != nil {
				panic(err)
			}
			in.Members = append(in.Members, assign.Member{ID: m.MemberID, InstanceID: textOf(m.InstanceID), Subscription: s})
		}
		change(p, in, sync)
	}}
}

// Without R-A19: a leader gives away what others own still.
func TestLeadersThatDoNotLook(t *testing.T) {
	hunt(t, planned(cs, func(_ *process, in assign.Input, sync *kmsg.SyncGroupRequest) {
		target, err := assign.CooperativeSticky{}.Target(in)
		if err != nil {
			return
		}
		for i, b := range target.Encode() {
			sync.GroupAssignment[i].MemberAssignment = b
		}
	}), Plan, "INV1")
}

// Without R-C16, which is row M20: a leader deals by an EAGER assignor what foreign members say that they own.
func TestLeadersThatTrustForeigners(t *testing.T) {
	hunt(t, planned(rg, func(_ *process, in assign.Input, sync *kmsg.SyncGroupRequest) {
		plan, err := assign.Range{}.Assign(in)
		if err != nil {
			return
		}
		for i, b := range plan.Encode() {
			sync.GroupAssignment[i].MemberAssignment = b
		}
	}), func(seed uint64) *Script {
		p := &planner{d: simulation.NewDice(seed, "plan"), s: &Script{Script: simulation.Script{Seed: seed, Broker: "skein", Late: 20, Topics: []simulation.Topic{{Name: "t", Partitions: 4}}}}}
		foreigners(p)
		p.s.Calm = p.now
		return p.s
	}, "INV1")
}

// A leader that moves what need not, and one that forgets somebody.
func TestPlansThatAreNotTheBest(t *testing.T) {
	hunt(t, planned(cs, func(_ *process, _ assign.Input, sync *kmsg.SyncGroupRequest) {
		a := sync.GroupAssignment
		last := len(a) - 1
		a[0].MemberAssignment, a[last].MemberAssignment = a[last].MemberAssignment, a[0].MemberAssignment
	}), Plan, "moves")
	hunt(t, seams{admit: func(_ *world, in any) {
		if sync, ok := in.(group.Sync); ok && len(sync.Request.GroupAssignment) > 0 {
			sync.Request.GroupAssignment[0].MemberAssignment = nil
		}
	}}, Plan, "liveness")
}

// A coordinator that takes commits from whoever: in the name of who has the partition, if need be.
func TestCommitsOfStrangers(t *testing.T) {
	hunt(t, seams{admit: func(w *world, in any) {
		commit, ok := in.(group.Commit)
		if !ok {
			return
		}
		r := commit.Request
		t := r.Topics[0]
		if l := w.logs[partition{t.Topic, t.Partitions[0].Partition}]; w.judge.ids[l.given] != nil {
			r.MemberID, r.Generation, r.InstanceID = l.given, w.judge.generation, nil
		}
	}}, Plan, "INV2", "back")
}

// A user who commits what has not been processed.
func TestCommitsAhead(t *testing.T) {
	hunt(t, seams{commit: func(_ *process, next int64) int64 { return next + 1 }}, Plan, "lost")
}

// A group that never rests, and a consumer that gives up where it should not.
func TestRestlessGroups(t *testing.T) {
	hunt(t, seams{admit: func(w *world, in any) {
		if beat, ok := in.(group.Heartbeat); ok && w.net.Calm && w.Now.Before(w.Start.Add(w.script.Calm+20*1e9)) {
			w.do(simulation.Line{Words: []string{"rejoin", w.order[0].name}})
			_ = beat
		}
	}}, Plan, "generations")
	hunt(t, seams{request: func(p *process, req any) {
		if join, ok := req.(*kmsg.JoinGroupRequest); ok && p.count > 1 {
			join.SessionTimeoutMillis = 1
		}
	}}, Plan, "fatal")
}

// Without R-C15 an old member is refused although everybody could do as it does.
func TestRefusedAlthoughInCommon(t *testing.T) {
	found := hunt(t, seams{request: func(_ *process, req any) {
		if join, ok := req.(*kmsg.JoinGroupRequest); ok {
			join.UnknownTags = kmsg.Tags{}
		}
	}}, func(seed uint64) *Script {
		s := Plan(seed)
		s.Broker = "skein"
		return s
	}, "refused")
	if kinds := slices.Sorted(maps.Keys(found)); !slices.Equal(kinds, []string{"refused"}) {
		t.Errorf("it does more harm: %v", kinds)
	}
}
