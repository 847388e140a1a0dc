package upgrade

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/interop/internal/member"
)

// offsetsTopic is where Kafka and Skein write, in the same format, which offsets
// they have accepted, and each generation as soon as its plan is there.
const offsetsTopic = "__consumer_offsets"

// offsetsLog reads that topic as it grows, for all groups of a broker.
type offsetsLog struct {
	client  *kgo.Client
	admin   *kadm.Client
	stop    context.CancelFunc
	running sync.WaitGroup

	mu     sync.Mutex
	groups map[string]*written
	next   map[int32]int64 // below it everything is read
	failed error
	heard  chan struct{} // closed and replaced at every change
}

// written is what the topic says of one group.
type written struct {
	commits     []commit
	generations []generation
}

func followOffsets(addr string) (*offsetsLog, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ConsumeTopics(offsetsTopic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchMaxWait(250*time.Millisecond))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	l := &offsetsLog{client: client, admin: kadm.NewClient(client), stop: cancel, groups: map[string]*written{}, next: map[int32]int64{}, heard: make(chan struct{})}
	l.running.Go(func() { l.follow(ctx) })
	return l, nil
}

func (l *offsetsLog) close() {
	l.stop()
	l.running.Wait()
	l.client.Close()
}

func (l *offsetsLog) follow(ctx context.Context) {
	for ctx.Err() == nil {
		fetches := l.client.PollFetches(ctx) // it goes on when the broker is back
		l.mu.Lock()
		fetches.EachRecord(func(r *kgo.Record) {
			if err := l.take(r); err != nil && l.failed == nil {
				l.failed = fmt.Errorf("reading %s, partition %d, offset %d: %w", offsetsTopic, r.Partition, r.Offset, err)
			}
			l.next[r.Partition] = r.Offset + 1
		})
		close(l.heard)
		l.heard = make(chan struct{})
		l.mu.Unlock()
	}
}

func (l *offsetsLog) of(group string) *written {
	if l.groups[group] == nil {
		l.groups[group] = &written{}
	}
	return l.groups[group]
}

// take reads one record, by the version that its key begins with.
func (l *offsetsLog) take(r *kgo.Record) error {
	if len(r.Key) < 2 {
		return nil
	}
	kind := binary.BigEndian.Uint16(r.Key)
	if r.Value == nil { // deleted
		if kind == 2 {
			return l.end(r.Key)
		}
		return nil
	}
	switch kind {
	case 0, 1:
		key, value := kmsg.NewOffsetCommitKey(), kmsg.NewOffsetCommitValue()
		if err := key.ReadFrom(r.Key); err != nil {
			return err
		}
		if err := value.ReadFrom(r.Value); err != nil {
			return err
		}
		w := l.of(key.Group)
		w.commits = append(w.commits, commit{member.Now(), key.Partition, value.Offset})
	case 2:
		key, value := kmsg.NewGroupMetadataKey(), kmsg.NewGroupMetadataValue()
		if err := key.ReadFrom(r.Key); err != nil {
			return err
		}
		if err := value.ReadFrom(r.Value); err != nil {
			return err
		}
		g, err := readGeneration(value)
		if err != nil {
			return err
		}
		l.of(key.Group).add(g)
	}
	return nil
}

// end is that of a classic group: it is deleted, or a group of the new protocol from here on.
func (l *offsetsLog) end(b []byte) error {
	key := kmsg.NewGroupMetadataKey()
	if err := key.ReadFrom(b); err != nil {
		return err
	}
	w := l.of(key.Group)
	w.generations = append(w.generations, generation{at: member.Now(), gone: true})
	return nil
}

func readGeneration(value kmsg.GroupMetadataValue) (generation, error) {
	g := generation{at: member.Now(), number: value.Generation, members: map[string]planned{}}
	if value.Protocol != nil {
		g.protocol = *value.Protocol
	}
	if value.Leader != nil {
		g.leader = *value.Leader
	}
	for _, m := range value.Members {
		plan := kmsg.NewConsumerMemberAssignment()
		if len(m.Assignment) > 0 {
			if err := plan.ReadFrom(m.Assignment); err != nil {
				return g, fmt.Errorf("the assignment of %s: %w", m.MemberID, err)
			}
		}
		p := planned{client: m.ClientID}
		for _, t := range plan.Topics {
			p.partitions = append(p.partitions, t.Partitions...)
		}
		g.members[m.MemberID] = p
	}
	return g, nil
}

// add puts a generation down; one is written again when a static member comes
// back, and at the start of a group.
func (w *written) add(g generation) {
	if n := len(w.generations); n > 0 && w.generations[n-1].number == g.number && !w.generations[n-1].gone {
		w.generations = w.generations[:n-1]
	}
	w.generations = append(w.generations, g)
}

// read is what is written of a group, up to now.
func (l *offsetsLog) read(group string) written {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.of(group)
	return written{slices.Clip(w.commits), slices.Clip(w.generations)}
}

// catchUp waits until everything that is in the topic now is read.
func (l *offsetsLog) catchUp(ctx context.Context) error {
	ends, err := l.admin.ListEndOffsets(ctx, offsetsTopic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return fmt.Errorf("asking for the end of %s: %w", offsetsTopic, err)
	}
	return l.await(ctx, "everything is read", func() bool {
		behind := false
		ends.Each(func(end kadm.ListedOffset) { behind = behind || l.next[end.Partition] < end.Offset })
		return !behind
	})
}

// await waits until ok, which is called with the state locked.
func (l *offsetsLog) await(ctx context.Context, what string, ok func() bool) error {
	for {
		l.mu.Lock()
		done, failed, heard := ok(), l.failed, l.heard
		l.mu.Unlock()
		switch {
		case failed != nil:
			return failed
		case done:
			return nil
		}
		select {
		case <-heard:
		case <-ctx.Done():
			return fmt.Errorf("waiting in %s until %s: %w", offsetsTopic, what, ctx.Err())
		}
	}
}
