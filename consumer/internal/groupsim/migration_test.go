package groupsim

import (
	"testing"
	"time"

	"github.com/skeinstream/skein/assign"
	"github.com/skeinstream/skein/internal/group"
	"github.com/skeinstream/skein/internal/simulation"
)

// migrating is a plan of migrations alone, without other faults but a network that is late at times.
func migrating(life func(*planner)) func(uint64) *Script {
	return func(seed uint64) *Script {
		p := &planner{d: simulation.NewDice(seed, "plan"), s: &Script{Script: simulation.Script{Seed: seed, Broker: "kafka", Late: 20, Topics: []simulation.Topic{{Name: "t", Partitions: 6}}}}}
		life(p)
		p.s.Calm = p.now.Round(time.Millisecond)
		return p.s
	}
}

// Members that say that they own nothing: the coordinator takes that for having given up what goes to others (R-H3).
func TestClaimsLostInTheNewProtocol(t *testing.T) {
	hunt(t, change(func(s *assign.Subscription) { s.Owned = nil }), migrating(migrations), "INV1", "INV2")
}

// Members that never say that they have given something up: others wait for it in vain (R-H3).
func TestNothingIsGivenUp(t *testing.T) {
	most := []assign.TopicPartitions{{Topic: "t", Partitions: []int32{0, 1, 2, 3, 4, 5}}}
	hunt(t, change(func(s *assign.Subscription) {
		if len(s.Owned) > 0 {
			s.Owned = most
		}
	}), migrating(migrations), "liveness")
}

// A coordinator that takes commits of whoever in the epoch of who has the partition (R-H9).
func TestCommitsOfStrangersInTheNewProtocol(t *testing.T) {
	hunt(t, seams{admit: func(w *world, in any) {
		commit, ok := in.(group.Commit)
		if !ok || w.judge.modern == nil {
			return
		}
		r := commit.Request
		if m := w.judge.modern.member(w.logs[partition{r.Topics[0].Topic, r.Topics[0].Partitions[0].Partition}].given); m != nil {
			r.Version, r.MemberID, r.Generation, r.InstanceID = 9, m.ID, m.Epoch, nil
		}
	}}, migrating(migrations), "INV2")
}

// What Kafka's coordinator does in one corner (kafka.upgrade), which no member can mend.
func TestACoordinatorThatForgets(t *testing.T) {
	hunt(t, seams{forgets: true, strict: true}, migrating(func(p *planner) {
		ours := func() string { return "D[" + cs + "," + rg + "]" }
		p.starts(3, ours)
		for range 4 {
			p.settle()
			p.line("rejoin %s", p.names[0])
			p.wait(0, 2500*time.Millisecond)
			p.join(ours())
			p.wait(0, 300*time.Millisecond)
			p.join("K[" + uniform + "]")
			p.settle()
			p.line("close %s", p.names[len(p.names)-1])
		}
		p.settle()
	}), "INV1")
}

// What Kafka's conversion takes from under members that are about to give it up.
func TestAConversionThatComesTooEarly(t *testing.T) {
	hunt(t, seams{strict: true}, migrating(func(p *planner) {
		p.s.Slow = 300
		p.starts(3, func() string { return "D[" + cs + "," + rg + "]" })
		p.wait(0, 6*time.Second)
		p.join("K[" + uniform + "]")
		p.settle()
	}), "INV1", "INV2")
}
