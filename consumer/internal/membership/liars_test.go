package membership

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// A broker that gives a name and does not know it afterwards is not asked without a pause, nor one that does not know who has no name.
func TestABrokerThatForgetsNames(t *testing.T) {
	for _, err := range []*kerr.Error{kerr.MemberIDRequired, kerr.UnknownMemberID} {
		l := newLife(t, Config{}).subscribes("t")
		joins := 0
		for range 20 {
			l.log = nil
			l.refusedToJoin(err)
			joins += len(l.log)
		}
		if joins > 2 {
			t.Errorf("%d joins at once after %v", joins, err)
		}
		if l.passes(time.Second); len(l.log) == 0 {
			t.Errorf("no join a second after %v", err)
		}
	}
}

// A leader that assigns topics to which the member does not subscribe, again and again, does not keep the group in a storm of rounds; once, after
// a change of the subscription, it costs no time.
func TestALeaderThatDoesNotListen(t *testing.T) {
	l := newLife(t, Config{}).subscribes("t").joins(1, cs).isGiven("t-0 u-0")
	l.log = nil
	l.joins(2, cs).isGiven("t-0 u-0").did("sync generation 2, plan of 0")
	l.passes(time.Second).joins(3, cs).isGiven("t-0").ends()
	l.did(`join as "m" with [cooperative-sticky range], owning [] of generation 2`, "sync generation 3, plan of 0", "start [t-0]", "call assigned [t-0]")
}

// There are no partitions below 0, whoever assigns them.
func TestNegativePartitions(t *testing.T) {
	l := newLife(t, Config{}).subscribes("t").joins(1, cs).isGiven("t--1 t-0 t-0")
	l.ends().did(`join as "" with [cooperative-sticky range], owning [] of generation -1`, "sync generation 1, plan of 0", "start [t-0]", "call assigned [t-0]")
}
