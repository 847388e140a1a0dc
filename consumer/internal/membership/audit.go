package membership

import (
	"fmt"
	"slices"

	"github.com/skeinstream/skein/assign"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// audit has a static member that came back look at the plan in force, which was made before (KIP-814, R-D6):
//
//   - a leader looks at all of it: topics may have grown while nobody led, and what was held back for another may belong to
//     nobody for ever (docs/decision/0008-one-bounce.md);
//   - others look at topics of which they have nothing: they may not have subscribed to them before, and the broker tells
//     nobody that they do now.
//
// Kafka's consumers take the plan for what it should be. It costs one DescribeGroups, and a round only if something is amiss.
func (m *Machine) audit() {
	switch {
	case m.phase != steady:
	case m.led != nil && m.led.unknown:
		m.askForPlan()
	case m.led == nil && m.round.back:
		for _, topic := range m.topics {
			if len(m.owned.outside([]string{topic})) == len(m.owned) {
				m.round.unsure = append(m.round.unsure, topic)
			}
		}
		m.out.Want = m.round.unsure // do they exist?
	}
}

func (m *Machine) askForPlan() {
	m.flight.tries = 0
	m.flight.until = m.now.Add(m.cfg.PollInterval)
	m.ask()
}

// auditTopics goes on when it is known which of the topics exist.
func (m *Machine) auditTopics() {
	if m.phase != steady || len(m.round.unsure) == 0 || m.flight.id != 0 || !m.flight.retry.IsZero() {
		return
	}
	m.round.unsure = slices.DeleteFunc(m.round.unsure, func(topic string) bool {
		return !slices.ContainsFunc(m.cluster, func(t assign.Topic) bool { return t.Name == topic && t.Partitions > 0 })
	})
	if len(m.round.unsure) > 0 {
		m.askForPlan()
	}
}

// audited compares the plan with what it should be. A group that rebalances will have another.
func (m *Machine) audited(resp *kmsg.DescribeGroupsResponse) {
	if len(resp.Groups) != 1 || resp.Groups[0].ErrorCode != 0 {
		m.auditAgain(resp)
		return
	}
	unsure := m.sure()
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
	if amiss := m.amiss(given, unsure); amiss != "" {
		m.rejoin(amiss)
	}
}

// sure ends the audit.
func (m *Machine) sure() (unsure []string) {
	unsure, m.round.unsure = m.round.unsure, nil
	if m.led != nil {
		m.led.unknown = false
	}
	return unsure
}

// amiss says what is not given as it should be; "" when all is well.
func (m *Machine) amiss(given map[TopicPartition]bool, unsure []string) string {
	if m.led != nil {
		return m.led.amiss(given)
	}
	for p := range given {
		unsure = slices.DeleteFunc(unsure, func(topic string) bool { return topic == p.Topic })
	}
	if len(unsure) > 0 {
		return fmt.Sprintf("topic %s belongs to nobody", unsure[0])
	}
	return ""
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
	m.sure()
	if m.led != nil && m.planned() == assign.Cooperative {
		m.rejoin("what the plan in force held back may belong to nobody")
	}
}
