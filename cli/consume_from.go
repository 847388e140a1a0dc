package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/skeinstream/skein/cli/internal/problem"
	"github.com/skeinstream/skein/cli/internal/recordtext"
)

// from says where in each partition to start.
type from struct {
	kind   fromKind
	number int64 // offset, number of records, or milliseconds since 1970
}

type fromKind int

const (
	fromBeginning fromKind = iota
	fromEnd
	fromOffset
	fromLast // that many before the end
	fromTime
)

func parseFrom(text string, now time.Time) (from, error) {
	switch text {
	case "beginning", "start", "earliest":
		return from{kind: fromBeginning}, nil
	case "end", "latest":
		return from{kind: fromEnd}, nil
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		if strings.HasPrefix(text, "-") {
			return from{fromLast, -n}, nil
		}
		return from{fromOffset, n}, nil
	}
	if age, err := time.ParseDuration(text); err == nil && age < 0 {
		return from{fromTime, now.Add(age).UnixMilli()}, nil
	}
	if t, err := recordtext.ParseTime(strings.TrimPrefix(text, "@")); err == nil {
		return from{fromTime, t.UnixMilli()}, nil
	}
	return from{}, problem.Usage("give beginning, end, an offset, -N for the last N, a time (2026-11-30T12:00:00Z, @MILLISECONDS) or an age (-15m)",
		"--from %q is not a place to start", text)
}

// place is a partition; offsets holds one offset for each.
type place struct {
	topic     string
	partition int32
}

type offsets map[place]int64

func (o offsets) kgo() map[string]map[int32]kgo.Offset {
	out := map[string]map[int32]kgo.Offset{}
	for at, offset := range o {
		if out[at.topic] == nil {
			out[at.topic] = map[int32]kgo.Offset{}
		}
		out[at.topic][at.partition] = kgo.NewOffset().At(offset)
	}
	return out
}

// span is what of a partition there is to read: from start up to end, which
// grows while we follow.
type span struct{ start, end int64 }

type spans map[place]span

func (s spans) starts() offsets {
	out := offsets{}
	for at, span := range s {
		out[at] = span.start
	}
	return out
}

// ends returns the ends of the spans that hold anything.
func (s spans) ends() offsets {
	out := offsets{}
	for at, span := range s {
		if span.start < span.end {
			out[at] = span.end
		}
	}
	return out
}

func (s spans) dropEmpty() {
	for at, span := range s {
		if span.start >= span.end {
			delete(s, at)
		}
	}
}

// findSpans looks up where to start and where the end is now. Offsets outside
// of what a partition holds are moved inside, with a notice.
func findSpans(ctx context.Context, admin *kadm.Client, topics []string, partitions []int32, from from, level kgo.IsolationLevel, notices io.Writer) (spans, error) {
	wanted, err := choosePartitions(ctx, admin, topics, partitions)
	if err != nil {
		return nil, err
	}
	first, err := admin.ListStartOffsets(ctx, topics...)
	if err != nil && !partly(err) {
		return nil, fmt.Errorf("looking up first offsets: %w", err)
	}
	last, err := listEnds(ctx, admin, level, topics)
	if err != nil && !partly(err) {
		return nil, fmt.Errorf("looking up last offsets: %w", err)
	}
	var timed kadm.ListedOffsets
	if from.kind == fromTime {
		if timed, err = admin.ListOffsetsAfterMilli(ctx, from.number, topics...); err != nil && !partly(err) {
			return nil, fmt.Errorf("looking up offsets by time: %w", err)
		}
	}
	out := spans{}
	for _, at := range wanted {
		s, err := from.span(at, first, last, timed, notices)
		if err != nil {
			return nil, err
		}
		out[at] = s
	}
	return out, nil
}

// listEnds lists where reading stops: at the last stable offset when only
// committed records count, else at the high watermark.
func listEnds(ctx context.Context, admin *kadm.Client, level kgo.IsolationLevel, topics []string) (kadm.ListedOffsets, error) {
	if level == kgo.ReadCommitted() {
		return admin.ListCommittedOffsets(ctx, topics...)
	}
	return admin.ListEndOffsets(ctx, topics...)
}

func choosePartitions(ctx context.Context, admin *kadm.Client, topics []string, partitions []int32) ([]place, error) {
	details, err := admin.ListTopicsWithInternal(ctx, topics...)
	if err != nil {
		return nil, fmt.Errorf("looking up topics: %w", err)
	}
	var out []place
	for _, topic := range topics {
		d := details[topic]
		switch {
		case errors.Is(d.Err, kerr.UnknownTopicOrPartition):
			return nil, missingTopic(ctx, admin, topic, createIt(topic))
		case d.Err != nil:
			return nil, refusal("consume", topic, d.Err, "", "")
		}
		numbers := d.Partitions.Numbers()
		for _, p := range partitions {
			if !slices.Contains(numbers, p) {
				return nil, problem.Usage(fmt.Sprintf("it has %s, counted from 0", count(len(numbers), "partition")), "topic %s has no partition %d", topic, p)
			}
		}
		if len(partitions) > 0 {
			numbers = partitions
		}
		for _, p := range numbers {
			if d.Partitions[p].Leader < 0 {
				return nil, noLeader(d, p)
			}
			out = append(out, place{topic, p})
		}
	}
	return out, nil
}

// noLeader is a partition that nobody serves. Others of the topic may be read.
func noLeader(d kadm.TopicDetail, partition int32) error {
	hint := "its broker is down, or took it offline: the log of that broker says why"
	var led []string
	for _, p := range d.Partitions.Sorted() {
		if p.Leader >= 0 {
			led = append(led, fmt.Sprint(p.Partition))
		}
	}
	if len(led) > 0 {
		hint += "; --partition " + strings.Join(led, ",") + " reads the others"
	}
	return problem.New(hint, "topic %s partition %d has no leader", d.Topic, partition)
}

// span works out one partition.
func (f from) span(at place, first, last, timed kadm.ListedOffsets, notices io.Writer) (span, error) {
	start, err := listed(first, at)
	if err != nil {
		return span{}, err
	}
	end, err := listed(last, at)
	if err != nil {
		return span{}, err
	}
	switch f.kind {
	case fromEnd:
		start = end
	case fromLast:
		start = max(start, end-f.number)
	case fromOffset:
		start = clamp(at, f.number, start, end, notices)
	case fromTime:
		if start, err = listed(timed, at); err != nil {
			return span{}, err
		}
		if start < 0 { // nothing is that young
			start = end
		}
	}
	return span{start, end}, nil
}

func listed(offsets kadm.ListedOffsets, at place) (int64, error) {
	o, ok := offsets.Lookup(at.topic, at.partition)
	if !ok {
		return 0, problem.New("is its broker up?", "nobody tells the offsets of topic %s partition %d", at.topic, at.partition)
	}
	if o.Err != nil {
		return 0, &problem.Error{What: fmt.Sprintf("cannot look up the offsets of topic %s partition %d: %s", at.topic, at.partition, reasonText(o.Err)), Err: o.Err}
	}
	return o.Offset, nil
}

func clamp(at place, offset, start, end int64, notices io.Writer) int64 {
	inside := min(max(offset, start), end)
	if inside != offset {
		fmt.Fprintf(notices, "skein: topic %s partition %d begins at offset %d and ends before %d: reading starts at %d\n", at.topic, at.partition, start, end, inside)
	}
	return inside
}
