package cli

import (
	"errors"
	"fmt"

	"github.com/skeinstream/skein/cli/internal/problem"
	"github.com/skeinstream/skein/cli/internal/rebalance"
)

// impossibleChange says what to do about a change that cannot be made, or a
// group that cannot be read.
func impossibleChange(err error) error {
	hint := problem.Hint(err)
	if e, ok := errors.AsType[*rebalance.NoMemberError](err); ok {
		hint = nearOrAll(e.Name, e.Members, "it has none")
	}
	return problem.New(hint, "%w", err)
}

// nearOrAll names the candidate that was probably meant, or all that there are.
func nearOrAll(name string, candidates []string, none string) string {
	if near := problem.DidYouMean(name, candidates); near != "" {
		return near
	}
	if len(candidates) == 0 {
		return none
	}
	return "there are: " + listText(candidates)
}

// knowsPartition says what is wrong with a partition that the group's topics
// do not have.
func knowsPartition(g rebalance.Group, topic string, partition int32) error {
	var topics []string
	for _, t := range g.Topics {
		switch {
		case t.Name != topic:
			topics = append(topics, t.Name)
		case partition < t.Partitions:
			return nil
		default:
			return problem.New(fmt.Sprintf("%s has %s, counted from 0", topic, count(t.Partitions, "partition")), "there is no such partition: %s-%d", topic, partition)
		}
	}
	return problem.New(nearOrAll(topic, topics, "the group has no topics"), "there is no such partition: the group has no topic %q", topic)
}
