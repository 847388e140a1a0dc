package broker

import (
	"errors"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/coordinator"
	"github.com/skeinstream/skein/internal/group"
	"github.com/skeinstream/skein/internal/vfs"
)

// findCoordinator asks for the coordinator of a group.
func findCoordinator(w *wire, group string) error {
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.CoordinatorKeys = []string{group}
	resp, err := ask[*kmsg.FindCoordinatorResponse](w, req)
	if err != nil {
		return err
	}
	return failed(resp.Coordinators[0].ErrorCode)
}

func (h *house) deleteTopic(name string) {
	h.t.Helper()
	req := kmsg.NewPtrDeleteTopicsRequest()
	topic := kmsg.NewDeleteTopicsRequestTopic()
	topic.Topic = &name
	req.TopicNames, req.Topics = []string{name}, []kmsg.DeleteTopicsRequestTopic{topic}
	resp, err := ask[*kmsg.DeleteTopicsResponse](h.wire(), req)
	if err == nil {
		err = failed(resp.Topics[0].ErrorCode)
	}
	if err != nil {
		h.t.Fatalf("deleting topic %s: %v", name, err)
	}
}

// expectOffset checks what a group has committed for partition 0 of a topic.
func (h *house) expectOffset(group, topic string, want int64) {
	h.t.Helper()
	w := h.wire()
	err := retrying(func() error {
		got, err := committedOffset(w, group, topic, 0)
		if err == nil && got != want {
			h.t.Errorf("%s has committed %d for %s, want %d", group, got, topic, want)
		}
		return err
	})
	if err != nil {
		h.t.Error(err)
	}
}

func (h *house) commits(group, topic string, offset int64) {
	h.t.Helper()
	w := h.wire()
	if err := retrying(func() error { return commitOffset(w, group, nil, topic, 0, offset) }); err != nil {
		h.t.Fatal(err)
	}
}

// The topic of the groups is made by the first who needs a coordinator, once, as Kafka makes it.
func TestTheTopicOfGroupsComesWithTheFirstQuestion(t *testing.T) {
	inBubble(t, map[string]string{"offsets.topic.num.partitions": "7", "offsets.topic.segment.bytes": "2000000"}, func(h *house) {
		if h.b.catalog.Snapshot().Topic(offsetsTopic) != nil {
			t.Fatal("it is there already")
		}
		var all sync.WaitGroup
		for range 20 {
			w := h.wire()
			all.Go(func() {
				if err := findCoordinator(w, "g"); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		topic := h.b.catalog.Snapshot().Topic(offsetsTopic)
		want := map[string]string{"cleanup.policy": "compact", "compression.type": "producer", "segment.bytes": "2000000"}
		if topic == nil || topic.Partitions != 7 || !topic.Internal || !maps.Equal(topic.Configs, want) {
			t.Errorf("made: %+v", topic)
		}
	})
}

// Until somebody asks for a coordinator there are no groups, and asking for them makes no topic.
func TestListingGroupsMakesNoTopic(t *testing.T) {
	inBubble(t, nil, func(h *house) {
		resp, err := ask[*kmsg.ListGroupsResponse](h.wire(), kmsg.NewPtrListGroupsRequest())
		if err != nil || resp.ErrorCode != 0 || len(resp.Groups) != 0 {
			t.Errorf("%+v, %v", resp, err)
		}
		if h.b.catalog.Snapshot().Topic(offsetsTopic) != nil {
			t.Error("a topic was made")
		}
	})
}

func TestATopicOfGroupsThatCannotBeMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &house{t: t, disk: vfs.NewMemory(), settings: map[string]string{}}
		h.faults = vfs.NewFaults(h.disk)
		h.open()
		defer h.shutdown()
		remove := h.faults.Fail(vfs.Rule{Op: vfs.OpWrite, Name: "*", Err: syscall.ENOSPC})
		if err := findCoordinator(h.wire(), "g"); !errors.Is(err, kerr.CoordinatorNotAvailable) {
			t.Errorf("on a full disk: %v", err)
		}
		remove()
		if err := findCoordinator(h.wire(), "g"); err != nil {
			t.Errorf("with room again: %v", err)
		}
	})
}

// Who asks while others are still being told of a failure is tried for anew.
func TestWhoAsksRightAfterAFailureIsTriedForAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &house{t: t, disk: vfs.NewMemory(), settings: map[string]string{}}
		h.faults = vfs.NewFaults(h.disk)
		h.open()
		defer h.shutdown()
		remove := h.faults.Fail(vfs.Rule{Op: vfs.OpWrite, Name: "*", Err: syscall.ENOSPC})
		second := make(chan error, 1)
		h.b.groups.Prepare(func(err error) {
			if err == nil {
				t.Error("the topic was made on a full disk")
			}
			remove()
			h.b.groups.Prepare(func(err error) { second <- err })
		})
		if err := <-second; err != nil {
			t.Errorf("with room again: %v", err)
		}
	})
}

// FR-C21: another number of partitions in the settings moves no group.
func TestTheNumberOfPartitionsOfGroupsStays(t *testing.T) {
	var logs strings.Builder
	inBubble(t, map[string]string{"offsets.topic.num.partitions": "5"}, func(h *house) {
		h.createTopic("t", 1)
		for _, group := range []string{"a", "b", "c", "d", "e", "f"} {
			h.commits(group, "t", 42)
		}
		h.settings["offsets.topic.num.partitions"] = "50"
		h.logger = slog.New(slog.NewTextHandler(&logs, nil))
		h.restart()
		for _, group := range []string{"a", "b", "c", "d", "e", "f"} {
			h.expectOffset(group, "t", 42)
		}
		if n := strings.Count(logs.String(), "offsets.topic.num.partitions is not what the topic has"); n != 1 {
			t.Errorf("said %d times", n)
		}
	})
}

// Who waits for other members is told when the topic goes, and the next question makes a new one.
func TestTheTopicOfGroupsIsDeleted(t *testing.T) {
	inBubble(t, nil, func(h *house) {
		h.createTopic("t", 1)
		h.commits("g", "t", 1)
		joined := make(chan error, 1)
		m := h.member("waits", nil)
		go func() { joined <- m.join() }()
		synctest.Wait()
		h.deleteTopic(offsetsTopic)
		if err := <-joined; !errors.Is(err, kerr.NotCoordinator) {
			t.Errorf("joining: %v", err)
		}
		h.expectOffset("g", "t", -1)
		h.commits("g", "t", 2)
		h.expectOffset("g", "t", 2)
	})
}

// R-D20: a shard that could not be told of a deleted topic is told before anything else, so that the offsets do not pass for
// those of another topic of the name.
func TestDeletedTopicsReachShardsThatDidNotListen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &house{t: t, disk: vfs.NewMemory(), settings: map[string]string{}}
		h.faults = vfs.NewFaults(h.disk)
		h.open()
		defer h.shutdown()
		h.createTopic("t", 1)
		h.createTopic("other", 1)
		h.commits("g", "t", 1)
		h.commits("g", "other", 1)
		remove := h.faults.Fail(vfs.Rule{Op: vfs.OpWrite, Name: "*.wal", Err: syscall.ENOSPC})
		h.deleteTopic("t") // which every shard tries to write down
		synctest.Wait()
		h.createTopic("t", 1)
		remove()
		pass(time.Minute)
		h.expectOffset("g", "t", -1)
		h.expectOffset("g", "other", 1)
		h.restart()
		h.expectOffset("g", "t", -1)
		h.expectOffset("g", "other", 1)
	})
}

// Offsets of topics that were deleted just before a crash are dropped by the next start.
func TestOffsetsOfTopicsThatAreGoneAreDroppedAtTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &house{t: t, disk: vfs.NewMemory(), settings: map[string]string{}}
		h.faults = vfs.NewFaults(h.disk)
		h.open()
		h.createTopic("t", 1)
		h.commits("g", "t", 1)
		h.faults.Fail(vfs.Rule{Op: vfs.OpWrite, Name: "*.wal", Err: syscall.ENOSPC})
		h.deleteTopic("t")
		after := &house{t: t, disk: h.disk.KillClone(), settings: map[string]string{}}
		h.shutdown()
		after.open()
		defer after.shutdown()
		synctest.Wait()
		after.createTopic("t", 1)
		after.expectOffset("g", "t", -1)
	})
}

func TestMetricsOfGroups(t *testing.T) {
	inBubble(t, nil, func(h *house) {
		expectMetrics(t, h.b, `skein_group_shards{state="serving"} 0`, `skein_groups{state="Stable"} 0`)
		h.createTopic("t", 1)
		h.commits("simple", "t", 1)
		m := h.member("members", nil)
		if err := errors.Join(m.join(), m.sync(echo)); err != nil {
			t.Fatal(err)
		}
		expectMetrics(t, h.b,
			`skein_group_shards{state="serving"} 50`, `skein_group_shards{state="loading"} 0`,
			`skein_groups{state="Stable"} 1`, `skein_groups{state="Empty"} 1`, `skein_group_members 1`,
			`skein_group_offsets 1`, `skein_group_offsets_pending 0`, `skein_group_offset_commits_total 1`, `skein_group_rebalances_total 1`,
			`skein_group_offsets_expired_total 0`, `skein_group_offsets_deleted_total 0`, `skein_coordinator_load_seconds_count 50`)
		h.deleteTopic("t")
		synctest.Wait()
		expectMetrics(t, h.b, `skein_group_offsets 0`, `skein_group_offsets_deleted_total 1`)
	})
}

// Totals go on when a machine is made anew.
func TestTotalsOutliveAMachine(t *testing.T) {
	g := &groups{counts: countsByShard{}}
	g.counts[3] = shardCounts{}
	for _, n := range []int64{5, 7, 2, 3} {
		g.noteCounts(3, countsOf(n))
	}
	if got := g.sum(1, 1).Commits; got != 7+3 {
		t.Errorf("%d commits, want 10", got)
	}
}

func TestGroupsAfterTheShutdown(t *testing.T) {
	inBubble(t, nil, func(h *house) {
		g := h.b.groups
		h.shutdown()
		for range 2 {
			told := 0
			g.Do("g", nil, func(_ any, err error) {
				told++
				if !errors.Is(err, coordinator.ErrNotCoordinator) {
					t.Error(err)
				}
			})
			if told != 1 {
				t.Errorf("told %d times", told)
			}
		}
	})
}

func countsOf(commits int64) group.Counts { return group.Counts{Commits: commits} }

// On a disk without room nothing is decided, so the shards cannot be told of a deleted topic. They are once there is room.
func TestDeletedTopicsReachShardsThatCouldNotWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &house{t: t, disk: vfs.NewMemory(), settings: map[string]string{}}
		h.faults = vfs.NewFaults(h.disk)
		h.open()
		defer h.shutdown()
		h.createTopic("t", 1)
		h.commits("g", "t", 1)
		h.faults.FakeSpace(&vfs.Space{Total: 1 << 40, Free: 1})
		pass(time.Second)
		want := int64(1)
		if commitOffset(h.wire(), "g", nil, "t", 0, 2) == nil { // makes somebody look, if nobody has
			want = 2
		}
		pass(time.Second)
		if err := commitOffset(h.wire(), "g", nil, "t", 0, 3); !errors.Is(err, kerr.NotCoordinator) {
			t.Fatalf("committing without room: %v", err)
		}
		h.expectOffset("g", "t", want)
		h.deleteTopic("t")
		h.createTopic("t", 1)
		h.faults.FakeSpace(nil)
		pass(time.Second)
		h.expectOffset("g", "t", -1)
	})
}
