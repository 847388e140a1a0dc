package membership

import (
	"fmt"

	"github.com/skeinstream/skein/assign"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// audit has a static leader that came back look at the plan in force, which it has not made (KIP-814): topics may have grown while
// nobody led, and what was held back for another may belong to nobody for ever (docs/decision/0008-one-bounce.md). Kafka's
// consumers take the plan for what it should be. It costs one DescribeGroups, and a round only if something is amiss.
func (m *Machine) audit() {
	m.flight.tries = 0
	m.flight.until = m.now.Add(m.cfg.PollInterval)
	m.ask()
}

// audited compares the plan with the cluster. A group that rebalances will have another.
func (m *Machine) audited(resp *kmsg.DescribeGroupsResponse) {
	if len(resp.Groups) != 1 || resp.Groups[0].ErrorCode != 0 {
		m.auditAgain(resp)
		return
	}
	m.led.unknown = false
	if resp.Groups[0].State != "Stable" {
		return
	}
	given := map[TopicPartition]bool{}
	for _, member := range resp.Groups[0].Members {
		a, err := assign.DecodeAssignment(member.MemberAssignment)
		if err != nil {
			continue // it has nothing that we could read
		}
		for _, p := range setOf(a.Partitions) {
			given[p] = true
		}
	}
	if amiss := m.led.amiss(given); amiss != "" {
		m.rejoin(amiss)
	}
}

// amiss says what of the cluster is not given to anybody, or is given and not there; "" when nothing is.
func (l *ledger) amiss(given map[TopicPartition]bool) string {
	for _, t := range l.seen {
		for p := range t.Partitions {
			at := TopicPartition{t.Name, p}
			if !given[at] {
				return fmt.Sprintf("partition %d of %s belongs to nobody", p, t.Name)
			}
			delete(given, at)
		}
	}
	if len(given) > 0 {
		return "a topic of the group is gone"
	}
	return ""
}

// auditAgain asks again. A broker that does not tell leaves a COOPERATIVE leader one way to make sure: the next round.
func (m *Machine) auditAgain(resp *kmsg.DescribeGroupsResponse) {
	retriable := resp == nil || len(resp.Groups) == 1 && kerr.IsRetriable(kerr.ErrorForCode(resp.Groups[0].ErrorCode))
	if retriable && m.now.Before(m.flight.until) {
		m.later()
		return
	}
	m.led.unknown = false
	if m.planned() == assign.Cooperative {
		m.rejoin("what the plan in force held back may belong to nobody")
	}
}
