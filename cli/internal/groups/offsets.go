package groups

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// Isolation says which records a group reads.
type Isolation string

// The levels of isolation, as consumers configure them.
const (
	ReadCommitted   Isolation = "read_committed"
	ReadUncommitted Isolation = "read_uncommitted"
)

// Position is how far a group is in one partition. What nobody told is nil.
type Position struct {
	Topic       string `json:"topic"`
	Partition   int32  `json:"partition"`
	Committed   *int64 `json:"committed_offset"` // null: nothing is committed
	LeaderEpoch *int32 `json:"leader_epoch"`
	Metadata    string `json:"metadata"`
	Start       *int64 `json:"start_offset"`
	// End is where the group's reading ends: before an open transaction, when it reads what is committed.
	End *int64 `json:"end_offset"`
	Lag *int64 `json:"lag"`
	// Blocked counts the offsets behind End that wait for an open transaction.
	Blocked int64  `json:"blocked_by_transaction"`
	Member  string `json:"member_id,omitempty"`
	Error   string `json:"error,omitempty"`
}

// ends are the offsets of one partition: the first, the one after the last, and where committed records end for now.
type ends struct{ start, high, stable int64 }

// lag is how much there is to read of a partition. Offsets that retention has deleted are nothing to read, and a committed
// offset beyond the end is no negative work (FR-C18).
func (e ends) lag(committed, end int64) int64 { return max(end-max(committed, e.start), 0) }

// measure fills in what follows from the ends of a partition.
func (p *Position) measure(e ends, level Isolation) {
	end := e.high
	if level == ReadCommitted {
		end = min(e.stable, e.high)
	}
	p.Start, p.End = &e.start, &end
	if p.Committed == nil {
		return
	}
	lag := e.lag(*p.Committed, end)
	p.Lag, p.Blocked = &lag, e.lag(*p.Committed, e.high)-lag
}

// Total is a sum over partitions.
type Total struct {
	Lag     int64 `json:"lag"`
	Blocked int64 `json:"blocked_by_transaction"`
	// Uncommitted and Unknown count partitions without a committed offset, and those that nobody told the ends of.
	Uncommitted int `json:"partitions_without_commit"`
	Unknown     int `json:"partitions_unknown"`
}

// Sum adds positions up.
func Sum(positions []Position) Total {
	var t Total
	for _, p := range positions {
		switch {
		case p.End == nil:
			t.Unknown++
		case p.Lag == nil:
			t.Uncommitted++
		default:
			t.Lag += *p.Lag
			t.Blocked += p.Blocked
		}
	}
	return t
}

// Positions looks up how far a group is in every partition that it has committed or that a member has, in order.
func (c Client) Positions(ctx context.Context, g Group, level Isolation) ([]Position, error) {
	commits, err := c.commits(ctx, g.Name)
	if err != nil {
		return nil, err
	}
	all, owner := g.assigned(commits)
	logs, err := c.logs(ctx, all.Topics(), level)
	if err != nil {
		return nil, err
	}
	positions := []Position{}
	all.Each(func(topic string, partition int32) {
		p := Position{Topic: topic, Partition: partition, Member: owner[place{topic, partition}]}
		if commit, has := commits.Lookup(topic, partition); has {
			p.take(commit)
		}
		if e, err := logs.of(topic, partition); err == nil {
			p.measure(e, level)
		} else if p.Error == "" {
			p.Error = err.Error()
		}
		positions = append(positions, p)
	})
	return positions, nil
}

// place is one partition.
type place struct {
	topic     string
	partition int32
}

// assigned lists the partitions that members have or that are committed, and who has them. Groups have thousands of both.
func (g Group) assigned(commits kadm.OffsetResponses) (all Partitions, owner map[place]string) {
	all, owner = Partitions{}, map[place]string{}
	for topic, partitions := range commits {
		all.Add(topic, slices.Collect(maps.Keys(partitions))...)
	}
	held := map[string][]int32{}
	for _, m := range g.Members {
		for topic, partitions := range m.Assigned {
			held[topic] = append(held[topic], partitions...)
			for _, p := range partitions {
				owner[place{topic, p}] = m.ID
			}
		}
	}
	for topic, partitions := range held {
		all.Add(topic, partitions...)
	}
	return all, owner
}

func (p *Position) take(commit kadm.OffsetResponse) {
	switch {
	case commit.Err != nil:
		p.Error = ReasonText(commit.Err)
		return
	case commit.At < 0:
		return
	}
	p.Committed, p.Metadata = &commit.At, commit.Metadata
	if commit.LeaderEpoch >= 0 {
		p.LeaderEpoch = &commit.LeaderEpoch
	}
}

// commits fetches what a group has committed.
func (c Client) commits(ctx context.Context, group string) (kadm.OffsetResponses, error) {
	var commits kadm.OffsetResponses
	err := patiently(ctx, func() (err error) {
		commits, err = c.Admin.FetchOffsets(ctx, group)
		return err
	})
	switch {
	case errors.Is(err, kerr.GroupIDNotFound):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("fetching the offsets of the group %s: %w", group, err)
	}
	return commits, nil
}

// logs are the offsets of topics: of all their partitions, as far as brokers told.
type logs struct{ start, high, stable kadm.ListedOffsets }

// logs asks for the ends of topics. A partition whose leader is away is left out.
func (c Client) logs(ctx context.Context, topics []string, level Isolation) (l logs, err error) {
	if len(topics) == 0 {
		return logs{}, nil // no topics would mean all
	}
	if l.start, err = c.Admin.ListStartOffsets(ctx, topics...); err != nil && !partly(err) {
		return logs{}, fmt.Errorf("looking up first offsets: %w", err)
	}
	if l.high, err = c.Admin.ListEndOffsets(ctx, topics...); err != nil && !partly(err) {
		return logs{}, fmt.Errorf("looking up last offsets: %w", err)
	}
	if level == ReadCommitted {
		// After the high watermarks: what is appended in between does not look blocked.
		if l.stable, err = c.Admin.ListCommittedOffsets(ctx, topics...); err != nil && !partly(err) {
			return logs{}, fmt.Errorf("looking up last stable offsets: %w", err)
		}
	}
	if l.stable == nil {
		l.stable = l.high
	}
	return l, nil
}

// partly says that some brokers answered, or that partitions have no leader who could.
func partly(err error) bool {
	shards, ok := errors.AsType[*kadm.ShardErrors](err)
	return ok && (!shards.AllFailed || !slices.ContainsFunc(shards.Errs, func(e kadm.ShardError) bool {
		return !errors.Is(e.Err, kerr.LeaderNotAvailable)
	}))
}

func (l logs) of(topic string, partition int32) (e ends, err error) {
	for _, from := range []struct {
		listed kadm.ListedOffsets
		to     *int64
	}{{l.start, &e.start}, {l.stable, &e.stable}, {l.high, &e.high}} {
		if *from.to, err = listed(from.listed, topic, partition); err != nil {
			return ends{}, err
		}
	}
	return e, nil
}

func listed(offsets kadm.ListedOffsets, topic string, partition int32) (int64, error) {
	if whole, refused := offsets.Lookup(topic, -1); refused && whole.Err != nil {
		if errors.Is(whole.Err, kerr.UnknownTopicOrPartition) {
			return 0, errors.New("the topic does not exist")
		}
		return 0, errors.New(ReasonText(whole.Err))
	}
	o, told := offsets.Lookup(topic, partition)
	switch {
	case !told:
		return 0, errors.New("no broker tells the partition's offsets")
	case o.Err != nil:
		return 0, errors.New(ReasonText(o.Err))
	}
	return o.Offset, nil
}

// ParseIsolation reads the name of a level.
func ParseIsolation(text string) (Isolation, bool) {
	level := Isolation(strings.ReplaceAll(text, "-", "_"))
	return level, level == ReadCommitted || level == ReadUncommitted
}
