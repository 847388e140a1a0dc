package groups

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/interop/internal/admin"
	"github.com/skeinstream/skein/interop/internal/member"
	"github.com/skeinstream/skein/interop/internal/report"
	"github.com/skeinstream/skein/interop/internal/target"
	"github.com/skeinstream/skein/interop/internal/wire"
)

// TestAnOffsetWithAnOlderEpochTakesAMemberBack: somebody commits an offset with the leader epoch before the one that its record
// has, as Sarama does (it keeps the epoch of the commit that it began at). A Java member that takes over asks where that epoch
// ended, takes the records behind for cut off, and begins there. It does so on a real Kafka, too, which answers as we do.
func TestAnOffsetWithAnOlderEpochTakesAMemberBack(t *testing.T) {
	java := member.Java("4.4.0")
	if _, err := java.Command(t.Context()); err != nil {
		report.MissingPeer(t, java.Name, err)
		t.SkipNow()
	}
	for _, name := range []string{"skein", "kafka"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(target.Env, name)
			b := target.Start(t, map[string]string{"group.initial.rebalance.delay.ms": "0", "offsets.topic.num.partitions": "4"})
			if err := admin.CreateTopics(t.Context(), b.Addr, 1, nil, topic); err != nil {
				t.Fatal(err)
			}
			e := &epochs{t: t, addr: b.Addr}
			older := e.fill(125)
			if err := b.Restart(); err != nil {
				t.Fatal(err)
			}
			newer := e.fill(100)
			if newer <= older {
				t.Fatalf("the leader epoch is %d, and was %d before the start", newer, older)
			}
			for asked := older; asked <= newer; asked++ {
				want := fmt.Sprintf("epoch %d ends at 125", older)
				if asked == newer {
					want = fmt.Sprintf("epoch %d ends at 225", newer)
				}
				if got := e.end(newer, asked); got != want {
					t.Errorf("of %d to %d, asked for %d: %s, want %s", older, newer, asked, got, want)
				}
			}
			if first := e.takesOver(java, 201, older); first != 125 {
				t.Errorf("the member begins at %d", first)
			}
		})
	}
}

// epochs is a topic of one partition.
type epochs struct {
	t    *testing.T
	addr string
}

// fill writes records and returns the leader epoch that they have.
func (e *epochs) fill(n int) (epoch int32) {
	e.t.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(e.addr), kgo.DefaultProduceTopic(topic))
	if err != nil {
		e.t.Fatal(err)
	}
	defer c.Close()
	for i := range n {
		if err := c.ProduceSync(e.t.Context(), kgo.StringRecord(strconv.Itoa(i))).FirstErr(); err != nil {
			e.t.Fatal(err)
		}
	}
	offsets, err := kadm.NewClient(c).ListEndOffsets(e.t.Context(), topic)
	if err == nil {
		err = offsets.Error()
	}
	if err != nil {
		e.t.Fatal(err)
	}
	end, _ := offsets.Lookup(topic, 0)
	return end.LeaderEpoch
}

// end is what is answered to who asks where an epoch ended.
func (e *epochs) end(current, asked int32) string {
	e.t.Helper()
	r := kmsg.NewPtrOffsetForLeaderEpochRequest()
	p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
	p.CurrentLeaderEpoch, p.LeaderEpoch = current, asked
	r.Version, r.ReplicaID = 4, -1
	r.Topics = []kmsg.OffsetForLeaderEpochRequestTopic{{Topic: topic, Partitions: []kmsg.OffsetForLeaderEpochRequestTopicPartition{p}}}
	answer, err := wire.Ask[*kmsg.OffsetForLeaderEpochResponse](e.t.Context(), e.addr, "epochs", r)
	if err != nil {
		e.t.Fatal(err)
	}
	got := answer.Topics[0].Partitions[0]
	if got.ErrorCode != 0 {
		return fmt.Sprintf("error %d", got.ErrorCode)
	}
	return fmt.Sprintf("epoch %d ends at %d", got.LeaderEpoch, got.EndOffset)
}

// takesOver is where a member begins whose group has committed an offset with an epoch.
func (e *epochs) takesOver(c member.Client, offset int64, epoch int32) (first int64) {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(e.t.Context(), patience)
	defer cancel()
	k, err := kgo.NewClient(kgo.SeedBrokers(e.addr))
	if err != nil {
		e.t.Fatal(err)
	}
	defer k.Close()
	var committed kadm.Offsets
	committed.AddOffset(topic, 0, offset, epoch)
	if err := kadm.NewClient(k).CommitAllOffsets(ctx, group, committed); err != nil {
		e.t.Fatal(err)
	}
	seen := member.NewObserver()
	m, err := c.Start(e.t.Context(), seen, e.t.TempDir(), member.Arguments{Addr: e.addr, Group: group, Topic: topic, Name: "a", Assignors: "range",
		Session: session, Heartbeat: heartbeat})
	if err != nil {
		e.t.Fatal(err)
	}
	defer m.Kill()
	if err := seen.Await(ctx, "a record is handled", func() bool { return seen.Beyond(map[int32]int64{0: 1}) }); err != nil {
		e.t.Fatalf("%v\n%s", err, m.Said())
	}
	for _, h := range seen.All() {
		if h.Kind == member.Handled {
			return h.First
		}
	}
	return -1
}
