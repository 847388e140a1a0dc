package groups

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/skeinstream/skein/cli/internal/problem"
)

// Plan works out what a reset would do: for the partitions of scope, or, when it is nil, for all that the group has
// committed, or that the target's file names. Topics and partitions of the scope must exist.
func (c Client) Plan(ctx context.Context, group string, scope Partitions, t Target) ([]Move, error) {
	commits, err := c.commits(ctx, group)
	if err != nil {
		return nil, err
	}
	wanted := t.wanted()
	if scope == nil {
		scope = t.named(commits)
	} else if scope, err = c.fill(ctx, scope); err != nil {
		return nil, err
	}
	if len(scope) == 0 {
		return nil, problem.New("name topics with --topic", "the group %s has committed nothing", group)
	}
	find, err := c.find(ctx, scope, commits, t)
	if err != nil {
		return nil, err
	}
	moves := []Move{}
	scope.Each(func(topic string, partition int32) {
		k, err := find(topic, partition)
		k.wanted = wanted[place{topic, partition}]
		if err != nil {
			moves = append(moves, Move{Topic: topic, Partition: partition, Old: k.old, Error: err.Error()})
			return
		}
		moves = append(moves, t.move(topic, partition, k))
	})
	return moves, nil
}

// wanted are the offsets that a target's file names.
func (t Target) wanted() map[place]int64 {
	out := map[place]int64{}
	for _, row := range t.Rows {
		out[place{row.Topic, row.Partition}] = row.Offset
	}
	return out
}

// named are the partitions that a target's file names, or else those that the group has committed.
func (t Target) named(commits kadm.OffsetResponses) Partitions {
	lists := map[string][]int32{}
	for _, row := range t.Rows {
		lists[row.Topic] = append(lists[row.Topic], row.Partition)
	}
	if t.Kind != FromFile {
		commits.Each(func(commit kadm.OffsetResponse) {
			if commit.At >= 0 || commit.Err != nil {
				lists[commit.Topic] = append(lists[commit.Topic], commit.Partition)
			}
		})
	}
	out := Partitions{}
	for topic, partitions := range lists {
		out.Add(topic, partitions...)
	}
	return out
}

// fill puts all partitions in where a scope names none, and refuses those that do not exist.
func (c Client) fill(ctx context.Context, scope Partitions) (Partitions, error) {
	topics, err := c.Admin.ListTopicsWithInternal(ctx, scope.Topics()...)
	if err != nil {
		return nil, fmt.Errorf("looking up topics: %w", err)
	}
	out := Partitions{}
	for _, name := range scope.Topics() {
		topic := topics[name]
		switch {
		case errors.Is(topic.Err, kerr.UnknownTopicOrPartition):
			return nil, c.missingTopic(ctx, name)
		case topic.Err != nil:
			return nil, Refused("look up the topic "+name, "", topic.Err, "")
		}
		numbers := topic.Partitions.Numbers()
		for _, p := range scope[name] {
			if !slices.Contains(numbers, p) {
				return nil, problem.Usage(fmt.Sprintf("it has %d, counted from 0", len(numbers)), "topic %s has no partition %d", name, p)
			}
		}
		if len(scope[name]) > 0 {
			numbers = scope[name]
		}
		out.Add(name, numbers...)
	}
	return out, nil
}

func (c Client) missingTopic(ctx context.Context, name string) error {
	hint := "`skein topic list` shows the topics that there are"
	if topics, err := c.Admin.ListTopics(ctx); err == nil {
		if near := problem.DidYouMean(name, topics.Names()); near != "" {
			hint = near
		}
	}
	return problem.New(hint, "there is no topic %q", name)
}

// find looks everything up that moves are made of.
func (c Client) find(ctx context.Context, scope Partitions, commits kadm.OffsetResponses, t Target) (func(string, int32) (known, error), error) {
	logs, err := c.logs(ctx, scope.Topics(), ReadUncommitted)
	if err != nil {
		return nil, err
	}
	var timed kadm.ListedOffsets
	if t.timed() {
		timed, err = c.Admin.ListOffsetsAfterMilli(ctx, t.Time.UnixMilli(), scope.Topics()...)
		if err != nil && !partly(err) {
			return nil, fmt.Errorf("looking up offsets by time: %w", err)
		}
	}
	return func(topic string, partition int32) (k known, err error) {
		if commit, has := commits.Lookup(topic, partition); has {
			if commit.Err != nil {
				return k, errors.New(ReasonText(commit.Err))
			}
			if commit.At >= 0 {
				k.old, k.epoch, k.metadata = &commit.At, commit.LeaderEpoch, commit.Metadata
			}
		}
		if k.ends, err = logs.of(topic, partition); err == nil && t.timed() {
			k.timed, err = listed(timed, topic, partition)
			if k.timed < 0 {
				k.timed = k.ends.high
			}
		}
		return k, err
	}, nil
}

// Apply commits the new offsets, and notes in a move what the coordinator said about it.
func (c Client) Apply(ctx context.Context, group string, moves []Move) error {
	offsets := kadm.Offsets{}
	for _, m := range moves {
		offsets.Add(kadm.Offset{Topic: m.Topic, Partition: m.Partition, At: *m.New, LeaderEpoch: m.epoch, Metadata: m.metadata})
	}
	answers, err := c.Admin.CommitOffsets(ctx, group, offsets)
	if err != nil {
		return fmt.Errorf("committing the offsets of the group %s: %w", group, err)
	}
	failed := 0
	for i, m := range moves {
		if answer, _ := answers.Lookup(m.Topic, m.Partition); answer.Err != nil {
			moves[i].Error = ReasonText(answer.Err)
			err = answer.Err
			failed++
		}
	}
	switch failed {
	case 0:
		return nil
	case len(moves):
		return Refused("reset the group "+group, group, err, "")
	}
	return problem.New(Advice(err, group), "%d of %d partitions of the group %s were not reset", failed, len(moves), group)
}
