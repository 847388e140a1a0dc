package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/skeinstream/skein/cli/internal/connect"
	"github.com/skeinstream/skein/cli/internal/groups"
	"github.com/skeinstream/skein/cli/internal/problem"
	"github.com/skeinstream/skein/consumer"
)

// goal is what --exit-at-end waits for: that the group has come to what was the end of each partition when the command began. Of
// partitions that others have, their commits tell.
type goal struct {
	ends   offsets
	now    func() time.Time
	looked time.Time
}

func (c *consumeFlags) goal(ctx context.Context, a *app, cl *connect.Client, topics []string, level kgo.IsolationLevel) (g *goal, err error) {
	err = cl.Admin(ctx, func(ctx context.Context, admin *kadm.Client) error {
		if !c.exitAtEnd {
			_, err := choosePartitions(ctx, admin, topics, nil) // topics that are not there are told at once
			return err
		}
		spans, err := findSpans(ctx, admin, topics, nil, from{kind: fromBeginning}, level, a.env.Stderr)
		g = &goal{ends: spans.ends(), now: a.env.Now, looked: a.env.Now()}
		return err
	})
	return g, err
}

// reached says whether all ends are. The brokers are asked once in a while; idle says that nothing has come for a moment.
func (g *goal) reached(ctx context.Context, m *member, idle bool) bool {
	for at, end := range g.ends {
		if o, known := m.consumer.Position(consumer.TopicPartition{Topic: at.topic, Partition: at.partition}); known && o.At >= end {
			delete(g.ends, at)
		}
	}
	if len(g.ends) > 0 && (idle || g.now().Sub(g.looked) >= lookAtGoal) {
		g.looked = g.now()
		g.ask(ctx, m)
	}
	return len(g.ends) == 0
}

// ask looks at what others have committed, and at holes before the ends of our own: see skipHoles. What cannot be answered now is asked
// again later.
func (g *goal) ask(ctx context.Context, m *member) {
	within, cancel := m.cl.Within(ctx)
	defer cancel()
	var list []consumer.TopicPartition
	for at := range g.ends {
		list = append(list, consumer.TopicPartition{Topic: at.topic, Partition: at.partition})
	}
	committed, err := m.consumer.Committed(within, list...)
	if err != nil {
		return
	}
	details, err := kadm.NewClient(m.cl.Client).ListTopicsWithInternal(within, m.topics...)
	if err != nil {
		return
	}
	for at, end := range g.ends {
		tp := consumer.TopicPartition{Topic: at.topic, Partition: at.partition}
		reached := committed[tp].At >= end
		if own, known := m.consumer.Position(tp); known && !reached {
			r := &reader{cl: m.cl, level: m.level, positions: offsets{at: own.At}}
			passed, err := r.passHole(within, details[at.topic], at, end)
			reached = passed && err == nil
		}
		if reached {
			delete(g.ends, at)
		}
	}
}

// explain says what a person can do about the end of a membership.
func (m *member) explain(ctx context.Context, err error) error {
	if e, ok := errors.AsType[*consumer.ProtocolError](err); ok {
		return m.noCommonAssignor(ctx, e)
	}
	if e, ok := errors.AsType[*consumer.JoinError](err); ok {
		return &problem.Error{What: e.Error(), Hint: groups.Advice(e.Err, m.group), Err: err}
	}
	if e, ok := errors.AsType[*consumer.PartitionError](err); ok {
		at := place{e.Topic, e.Partition}
		own, _ := m.consumer.Position(e.TopicPartition)
		r := &reader{cl: m.cl, positions: offsets{at: own.At}}
		return r.problem(at, e.Err)
	}
	return m.cl.Explain(err)
}

// noCommonAssignor is error 23 with both lists: what this member offers, and what those offer who are there, as far as the broker tells.
func (m *member) noCommonAssignor(ctx context.Context, e *consumer.ProtocolError) error {
	lines := []string{"list an assignor that all of them have (--assignors), the new one first, and take the old one out when the last of them has been restarted",
		"`skein group upgrade-check " + m.group + "` says who holds what back, and which ways there are"}
	within, cancel := m.cl.Within(ctx)
	defer cancel()
	g, err := (groups.Client{Kafka: m.cl.Client, Admin: kadm.NewClient(m.cl.Client)}).Describe(within, m.group)
	if err == nil && g.ProtocolType != "" && g.ProtocolType != "consumer" {
		return &problem.Error{
			What: fmt.Sprintf("the group %s is not one of consumers: it is of type %q", m.group, g.ProtocolType), Err: e,
			Hint: "choose another group: consumers and others cannot share one",
		}
	}
	if err == nil {
		lines = append(theirLists(g), lines...)
	}
	return &problem.Error{
		What: fmt.Sprintf("the group %s refuses this member (INCONSISTENT_GROUP_PROTOCOL): it offers [%s], and %s", m.group, strings.Join(e.Offered, ", "), theyRun(e, g)),
		Hint: strings.Join(lines, "\n"), Err: e,
	}
}

func theyRun(e *consumer.ProtocolError, g groups.Group) string {
	selected := e.Selected
	if selected == "" {
		selected = g.Assignor
	}
	if selected == "" {
		return "the members that are there have none of these in common"
	}
	return "the group runs " + selected
}

// theirLists says who offers what; those that offer the same are in one line.
func theirLists(g groups.Group) (lines []string) {
	who := map[string][]string{}
	var order []string
	for _, m := range g.Members {
		if m.Offers == nil {
			continue
		}
		list := "[" + strings.Join(m.Offers, ", ") + "]"
		if len(m.Withholds) > 0 {
			list += ", and holds back [" + strings.Join(m.Withholds, ", ") + "]"
		}
		if who[list] == nil {
			order = append(order, list)
		}
		who[list] = append(who[list], m.ID)
	}
	for _, list := range order {
		const most = 3
		ids := who[list]
		text := strings.Join(ids[:min(len(ids), most)], ", ")
		if len(ids) > most {
			text += fmt.Sprintf(" and %d more", len(ids)-most)
		}
		offer := " offers "
		if len(ids) > 1 {
			offer = " offer "
		}
		lines = append(lines, text+offer+list)
	}
	return lines
}
