package membership

import (
	"testing"

	"github.com/skeinstream/skein/assign"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// inRack is a member that claims nothing and is somewhere.
func inRack(id, rack string) kmsg.JoinGroupResponseMember {
	return memberOf(id, assign.Subscription{Topics: []string{"t"}, Generation: assign.NoGeneration, Rack: rack})
}

func racked(racks ...string) Metadata {
	t := assign.Topic{Name: "t", Partitions: int32(len(racks))}
	for _, r := range racks {
		t.Racks = append(t.Racks, []string{r})
	}
	return Metadata{Topics: []assign.Topic{t}}
}

// R-B2, KIP-881: client.rack goes with each assignor's subscription, which is of a version that has it.
func TestTheRackIsTold(t *testing.T) {
	l := newLife(t, Config{Rack: "a"}).subscribes("t")
	for _, p := range l.last["join"].Req.(*kmsg.JoinGroupRequest).Protocols {
		s, err := assign.DecodeSubscription(p.Metadata)
		if err != nil || s.Rack != "a" || p.Metadata[1] != 3 {
			t.Errorf("%s: %+v of version %d, %v", p.Name, s, p.Metadata[1], err)
		}
	}
}

// KIP-881, A23: a leader gives each member what is near to it, whoever's name comes first.
func TestLeadingByRacks(t *testing.T) {
	for _, assignor := range []string{cs, rg} {
		for _, racks := range [][2]string{{"a", "b"}, {"b", "a"}} {
			l := newLife(t, Config{Rack: racks[0]}).subscribes("t")
			l.leads(1, assignor, inRack("m", racks[0]), inRack("n", racks[1])).does(racked(racks[1], racks[0]))
			if plan := l.plan(); plan["m"] != "[t-1]" || plan["n"] != "[t-0]" {
				t.Errorf("%s, members in %v: %v", assignor, racks, plan)
			}
		}
	}
}

// R-B9: replicas that move to other racks are a reason to plan anew for a leader that has a rack, and for no other.
func TestReplicasThatMove(t *testing.T) {
	for rack, want := range map[string][]string{"a": {owning}, "": nil} {
		l := newLife(t, Config{Rack: rack}).subscribes("t")
		l.leads(1, cs, inRack("m", rack)).does(racked("a")).isGiven("t-0").ends()
		l.log = nil
		l.does(racked("a")).did().does(racked("b")).did(want...)
	}
}
