package fleet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/skeinstream/skein/client"
)

// Outputs counts the values that are committed to a topic of one partition, once nothing is open in it any more.
func Outputs(ctx context.Context, cluster client.Config, topic string) (map[string]int, error) {
	reader, err := kgo.NewClient(append(cluster.KgoOptions(), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}))...)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	end, err := settled(ctx, kadm.NewClient(reader), topic)
	counts := map[string]int{}
	for at := int64(0); err == nil && at < end; {
		fetches := reader.PollFetches(ctx)
		err = errors.Join(fetches.Err(), ctx.Err())
		for r := range fetches.RecordsAll() {
			if at = r.Offset + 1; !r.Attrs.IsControl() {
				counts[string(r.Value)]++
			}
		}
	}
	return counts, err
}

// settled is the end of a topic's one partition, when no transaction is open there.
func settled(ctx context.Context, admin *kadm.Client, topic string) (int64, error) {
	for {
		stable, err := admin.ListCommittedOffsets(ctx, topic)
		if err != nil {
			return 0, err
		}
		ends, err := admin.ListEndOffsets(ctx, topic)
		if err != nil {
			return 0, err
		}
		at, _ := stable.Lookup(topic, 0)
		end, _ := ends.Lookup(topic, 0)
		if err := errors.Join(at.Err, end.Err); err != nil {
			return 0, err
		}
		if at.Offset == end.Offset {
			return end.Offset, nil
		}
		if err := waits(ctx); err != nil {
			return 0, fmt.Errorf("waiting for the end of the transactions in %s, open since offset %d: %w", topic, at.Offset, err)
		}
	}
}

// waits is a moment before something is asked again.
func waits(ctx context.Context) error {
	select {
	case <-time.After(100 * time.Millisecond):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Reached is how far the group is in a topic, by partition.
func (j Job) Reached(ctx context.Context, cluster client.Config) (map[int32]int64, error) {
	c, err := kgo.NewClient(cluster.KgoOptions()...)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	offsets, err := kadm.NewClient(c).FetchOffsets(ctx, j.Group)
	for kerr.IsRetriable(err) && waits(ctx) == nil { // a coordinator that has just been made
		offsets, err = kadm.NewClient(c).FetchOffsets(ctx, j.Group)
	}
	if err != nil {
		return nil, fmt.Errorf("asking how far group %s is: %w", j.Group, err)
	}
	at := map[int32]int64{}
	for partition, o := range offsets[j.From] {
		at[partition] = o.At
	}
	return at, nil
}

// Value is that of the n-th record of a partition, as Judge expects it.
func Value(partition int32, n int) string { return fmt.Sprintf("%d#%d", partition, n) }

// Judge holds what was made to what was sent, which is so many records of each partition, and how far the group is: each output is there, and
// once if it is to be. It returns everything that is wrong.
func Judge(sent map[int32]int, outputs map[string]int, reached map[int32]int64, once func(partition int32, n int) bool) (wrong []string) {
	left := maps.Clone(outputs)
	for _, partition := range slices.Sorted(maps.Keys(sent)) {
		for n := range sent[partition] {
			value := Value(partition, n)
			if times := left[value]; times == 0 || times > 1 && once(partition, n) {
				wrong = append(wrong, fmt.Sprintf("%s was made %d times", value, times))
			}
			delete(left, value)
		}
		if at := reached[partition]; at != int64(sent[partition]) {
			wrong = append(wrong, fmt.Sprintf("the group is at %d of partition %d, which has %d records", at, partition, sent[partition]))
		}
	}
	for _, value := range slices.Sorted(maps.Keys(left)) {
		wrong = append(wrong, fmt.Sprintf("%s was made %d times of nothing", value, left[value]))
	}
	return wrong
}
