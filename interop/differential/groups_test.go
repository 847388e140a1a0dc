package differential

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/skeinstream/skein/interop/internal/report"
	"github.com/skeinstream/skein/interop/kafka"
)

var (
	groupsForFlag   = flag.Duration("groupsfor", 25*time.Second, "how long to go on drawing cases about groups")
	groupsStepsFlag = flag.Int("groupsteps", 45, "steps a case about groups")
	scriptsFlag     = flag.String("scripts", "", "play the scripts of this pattern instead")
	answersFlag     = flag.Bool("answers", false, "show what Kafka answers")
)

// groupSettings make rounds begin at once and allow short sessions.
func groupSettings() map[string]string {
	return map[string]string{"group.initial.rebalance.delay.ms": "0", "group.min.session.timeout.ms": "1000"}
}

// TestCoordinators plays scripts about consumer groups and about transactions, and draws cases about them, as TestRequests does
// about everything else.
func TestCoordinators(t *testing.T) {
	p := startPairWith(t, groupSettings())
	t.Run("groups", func(t *testing.T) { groups(t, p) })
	t.Run("transactions", func(t *testing.T) { transactions(t, p) })
}

// groups are the cases about groups without transactions.
func groups(t *testing.T, p *pair) {
	t.Run("scripts", func(t *testing.T) {
		playScripts(t, p, "groups")
		report.Note(t, report.Shown, "differential group scripts", "%d steps answered as Kafka %s answers", p.steps, kafka.V4)
	})
	p.steps = 0
	t.Run("random", func(t *testing.T) {
		cases := p.draw(t, *groupsForFlag, p.drawGroupCase)
		for _, answer := range sortedKeys(p.seen) {
			t.Logf("%6d %s", p.seen[answer], answer)
		}
		report.Note(t, report.Shown, "differential groups", "%d steps in %d random cases about groups answered as Kafka %s answers; %d ended where brokers choose freely",
			p.steps, cases, kafka.V4, p.free)
	})
}

// TestFullAndSlowGroups has a delay before the first round, and
// room for two.
func TestFullAndSlowGroups(t *testing.T) {
	p := startPairWith(t, map[string]string{"group.initial.rebalance.delay.ms": "4000", "group.max.size": "2"})
	p.delays = true
	playScripts(t, p, "groups-delay")
}

// drawGroupCase runs the group case of one seed, and makes it small when it
// differs.
func (p *pair) drawGroupCase(seed uint64) (*finding, error) {
	now := time.Now().UnixMilli()
	return p.drawn(seed, func(run int) (string, []step) {
		prefix := fmt.Sprintf("g%x-%x-%d-", os.Getpid(), seed, run)
		return prefix, newGroupWorld(seed, prefix, p.ranges(), now).steps(*groupsStepsFlag)
	})
}
