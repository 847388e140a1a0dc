package groups

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// Deleted is what became of one group that was to be deleted.
type Deleted struct {
	Group   string `json:"group"`
	Deleted bool   `json:"deleted"`
	State   string `json:"state,omitempty"` // before
	Offsets int    `json:"offsets"`         // partitions whose committed offsets go with it
	Members int    `json:"members,omitempty"`
	Error   string `json:"error,omitempty"`
}

// Look says what deleting a group would delete; ErrUnknown when there is no such group.
func (c Client) Look(ctx context.Context, group string) (Deleted, error) {
	g, err := c.Describe(ctx, group)
	if err != nil {
		return Deleted{Group: group}, err
	}
	commits, err := c.commits(ctx, group)
	if err != nil {
		return Deleted{Group: group}, err
	}
	out := Deleted{Group: group, State: g.State, Members: len(g.Members)}
	for _, commit := range commits.Sorted() {
		if commit.At >= 0 {
			out.Offsets++
		}
	}
	if g.Active() {
		return out, Refused("delete the group "+group, group, kerr.NonEmptyGroup, "")
	}
	return out, nil
}

// Delete deletes groups; errors are by group.
func (c Client) Delete(ctx context.Context, groups []string) (map[string]error, error) {
	answers, err := c.Admin.DeleteGroups(ctx, groups...)
	if shards, some := errors.AsType[*kadm.ShardErrors](err); err != nil && (!some || shards.AllFailed) {
		return nil, fmt.Errorf("deleting groups: %w", err)
	}
	out := map[string]error{}
	for _, group := range groups {
		answer, told := answers[group]
		switch {
		case !told && err != nil:
			out[group] = fmt.Errorf("deleting the group %s: %w", group, err)
		case !told:
			out[group] = fmt.Errorf("deleting the group %s: the coordinator did not answer about it", group)
		case errors.Is(answer.Err, kerr.GroupIDNotFound):
			out[group] = ErrUnknown
		case answer.Err != nil:
			out[group] = Refused("delete the group "+group, group, answer.Err, answer.ErrMessage)
		}
	}
	return out, nil
}

// DeletedOffset is what became of the committed offset of one partition.
type DeletedOffset struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Committed int64  `json:"committed_offset"`
	Error     string `json:"error,omitempty"`
}

// Committed lists the committed offsets of a group in the partitions of scope, and which topics of scope have none.
func (c Client) Committed(ctx context.Context, group string, scope Partitions) (list []DeletedOffset, none []string, err error) {
	commits, err := c.commits(ctx, group)
	if err != nil {
		return nil, nil, err
	}
	list = []DeletedOffset{}
	has := map[string]bool{}
	for _, commit := range commits.Sorted() {
		if commit.At < 0 || !scope.Covers(commit.Topic, commit.Partition) {
			continue
		}
		has[commit.Topic] = true
		list = append(list, DeletedOffset{Topic: commit.Topic, Partition: commit.Partition, Committed: commit.At})
	}
	for _, topic := range scope.Topics() {
		if !has[topic] {
			none = append(none, topic)
		}
	}
	return list, none, nil
}

// DeleteOffsets deletes committed offsets, and notes in each what the coordinator said about it.
func (c Client) DeleteOffsets(ctx context.Context, group string, list []DeletedOffset) error {
	set := kadm.TopicsSet{}
	for _, d := range list {
		set.Add(d.Topic, d.Partition)
	}
	answers, err := c.Admin.DeleteOffsets(ctx, group, set)
	switch {
	case errors.Is(err, kerr.NonEmptyGroup), errors.Is(err, kerr.GroupIDNotFound):
		return Refused("delete offsets of the group "+group, group, err, "")
	case err != nil:
		return fmt.Errorf("deleting offsets of the group %s: %w", group, err)
	}
	failed := 0
	for i, d := range list {
		if refused, _ := answers.Lookup(d.Topic, d.Partition); refused != nil {
			list[i].Error = ReasonText(refused)
			err = refused
			failed++
		}
	}
	if failed > 0 {
		return Refused(fmt.Sprintf("delete %d of %d offsets of the group %s", failed, len(list), group), group, err, "")
	}
	return nil
}
