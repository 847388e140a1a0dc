//go:build synctests

package exactlyonce_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skeinstream/skein/client"
	"github.com/skeinstream/skein/consumer"
	"github.com/skeinstream/skein/exactlyonce"
	"github.com/skeinstream/skein/internal/fleet"
	"github.com/skeinstream/skein/producer"
)

// zombies says what refuses a zombie when others have gone on: nil is nothing. It is tried at brokers of every age, here in memory.
type zombies struct {
	what    string
	release string
	named   bool   // the zombie's offsets name its generation: it has made the first step
	from    string // its UpgradeFrom
	next    func(fleet.Job) fleet.Program
	refused error
}

func old(j fleet.Job) fleet.Program { return j.Old }

func ours(producers exactlyonce.Producers, upgradeFrom string) func(fleet.Job) fleet.Program {
	return func(j fleet.Job) fleet.Program { return j.Processing(producers, upgradeFrom) }
}

// R-F9, R-F12: what refuses a zombie of each kind, when members of each other kind have gone on. In one mixture nothing does, which is why a program
// with a producer for each partition is replaced in two steps.
func TestZombiesInMixedFleets(t *testing.T) {
	for _, c := range []zombies{
		{"old, beside one producer for each process", "", false, "", ours(exactlyonce.OnePerMember, ""), nil},
		{"after the first step, beside one producer for each process", "", true, "", ours(exactlyonce.OnePerMember, ""), producer.ErrGroupMoved},
		{"old, beside the first step", "", false, "", ours(exactlyonce.OnePerPartition, ""), producer.ErrFenced},
		{"after the first step, beside the first step", "", true, "", ours(exactlyonce.OnePerPartition, ""), producer.ErrFenced},
		{"after the first step, beside old ones", "", true, "", old, producer.ErrFenced},
		{"old, beside old ones", "", false, "", old, producer.ErrFenced},
		{"old, on an old broker", "2.4", false, "", ours(exactlyonce.OnePerPartition, "2.4"), producer.ErrFenced},
		{"with UpgradeFrom, on an old broker", "2.4", true, "2.4", ours(exactlyonce.OnePerPartition, "2.4"), producer.ErrFenced},
		{"with UpgradeFrom, when the broker is new", "", true, "2.4", ours(exactlyonce.OnePerMember, ""), producer.ErrGroupMoved},
	} {
		t.Run(c.what, func(t *testing.T) {
			inTown(t, c.release, 1, func(w *town) { w.zombie(c) })
		})
	}
}

// zombie plays one of them, inside a bubble.
func (w *town) zombie(c zombies) {
	w.writes(5)
	z, err := w.job.Falls(context.Background(), fleet.NewLine(w.cluster), c.from)
	if err != nil {
		w.t.Fatal(err)
	}
	w.writes(5)
	next := w.runs(c.next(w.job))
	pass(30 * time.Second) // the group has given the zombie up
	if at := w.reached()[0]; at != 10 {
		w.t.Errorf("the group is at %d before the zombie wakes up", at)
	}
	if err := z.Wakes(context.Background(), c.named); !errors.Is(err, c.refused) {
		w.t.Errorf("the zombie's commit ended with %v, want %v", err, c.refused)
	}
	next.ends()
	if c.refused != nil {
		w.judges(always)
		return
	}
	if at, times := w.reached()[0], w.outputs()[fleet.Value(0, 0)]; at != 5 || times != 2 {
		w.t.Errorf("the group is at %d, and the first output is there %d times: is the first step not needed any more?", at, times)
	}
}

// What the owner before commits until its id is taken is not done again: the group is asked for its offsets after that. On a broker of Kafka
// 2.4 nothing else would tell, for it gives out an offset that a transaction is about to replace.
func TestTheGroupIsAskedWhenTheIDIsHad(t *testing.T) {
	inTown(t, "2.4", 1, func(w *town) {
		w.writes(5)
		z, err := w.job.Falls(context.Background(), fleet.NewLine(w.cluster), "")
		if err != nil {
			t.Fatal(err)
		}
		w.writes(5)
		woke := false
		next := w.runs(func(ctx context.Context, cluster client.Config) error {
			cfg := w.job.Config(cluster, exactlyonce.OnePerPartition, "2.4")
			cfg.Consumer.Listener.Assigned = func(ctx context.Context, r consumer.Rebalance) error { // before the ids are taken
				if woke || len(r.Partitions) == 0 {
					return nil
				}
				pass(time.Second) // the consumer has the offsets
				woke = true
				return z.Wakes(ctx, false)
			}
			return exactlyonce.Run(ctx, cfg, w.job.Copies)
		})
		pass(30 * time.Second)
		next.ends()
		if !woke {
			t.Error("the zombie has not woken up")
		}
		w.judges(always)
	})
}

// R-F5, R-F14, R-F15: on a broker that knows no generations in transactions the loop does not begin, and says what to do.
func TestOldBrokersAreRefusedAtOnce(t *testing.T) {
	for _, producers := range []exactlyonce.Producers{exactlyonce.OnePerMember, exactlyonce.OnePerPartition} {
		inTown(t, "2.4", 1, func(w *town) {
			w.writes(5)
			began := time.Now()
			err := w.job.Processing(producers, "")(context.Background(), w.cluster)
			if !errors.Is(err, producer.ErrCannotFence) {
				t.Fatalf("it ended with %v", err)
			}
			for _, word := range []string{"Kafka 2.4", "2.5", "UpgradeFrom"} {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("it says nothing of %s: %v", word, err)
				}
			}
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("it took %v to say so", took)
			}
			if n, at := len(w.outputs()), w.reached()[0]; n != 0 || at != 0 {
				t.Errorf("%d outputs, and the group is at %d", n, at)
			}
		})
	}
}

// bounces restarts a fleet member by member with another program, under load, inside a bubble. One of them is killed, and comes back.
func (w *town) bounces(members []*member, to fleet.Program) {
	for i, m := range members {
		if i == 1 {
			m.dies()
			w.writes(3)
			pass(15 * time.Second)
		} else {
			m.ends()
		}
		w.writes(3)
		members[i] = w.runs(to)
		pass(5 * time.Second)
		w.writes(3)
		pass(5 * time.Second)
	}
	synctest.Wait()
}

// fleet begins with three members.
func (w *town) fleet(program fleet.Program) (members []*member) {
	w.writes(5)
	for range 3 {
		members = append(members, w.runs(program))
	}
	return members
}

// R-F12, R-F13: fleets go from one program to another member by member, there and back, and nothing is lost or done twice.
func TestFleetsAreUpgradedMemberByMember(t *testing.T) {
	perPartition, perMember := ours(exactlyonce.OnePerPartition, ""), ours(exactlyonce.OnePerMember, "")
	oldBroker := ours(exactlyonce.OnePerPartition, "2.4")
	for _, c := range []struct {
		what, release string
		steps         []func(fleet.Job) fleet.Program
	}{
		{"from one producer for each partition, and back", "", []func(fleet.Job) fleet.Program{old, perPartition, perMember, perPartition, old}},
		{"on an old broker, and back", "2.4", []func(fleet.Job) fleet.Program{old, oldBroker, old}},
		{"once the brokers are new", "", []func(fleet.Job) fleet.Program{oldBroker, perMember}},
	} {
		t.Run(c.what, func(t *testing.T) {
			inTown(t, c.release, 4, func(w *town) {
				members := w.fleet(c.steps[0](w.job))
				pass(10 * time.Second)
				for _, to := range c.steps[1:] {
					w.bounces(members, to(w.job))
				}
				pass(10 * time.Second)
				for _, m := range members {
					m.ends()
				}
				w.judges(always)
			})
		})
	}
}

// R-F14: from at least once it is one step, and the same back. What old members do is at least once as long as there is one; what is read
// when none is there is made once.
func TestFromAtLeastOnceAndBack(t *testing.T) {
	inTown(t, "", 4, func(w *town) {
		members := w.fleet(w.job.AtLeastOnce)
		pass(10 * time.Second)
		w.bounces(members, w.job.Processing(exactlyonce.OnePerMember, ""))
		pass(10 * time.Second)
		from := w.sent[0]
		w.writes(5)
		members[2].dies()
		w.writes(5)
		pass(15 * time.Second)
		to := w.sent[0]
		members[2] = w.runs(w.job.Processing(exactlyonce.OnePerMember, ""))
		w.bounces(members, w.job.AtLeastOnce)
		pass(10 * time.Second)
		for _, m := range members {
			m.ends()
		}
		w.judges(func(_ int32, n int) bool { return n >= from && n < to })
	})
}

// A record that cannot be processed is passed over in the transaction of its own partition.
func TestPoisonOfOnePartition(t *testing.T) {
	inTown(t, "2.4", 2, func(w *town) {
		w.writes(5)
		dead := fleet.Value(1, 2)
		m := w.runs(func(ctx context.Context, cluster client.Config) error {
			cfg := w.job.Config(cluster, exactlyonce.OnePerPartition, "2.4")
			cfg.Poison.DeadLetter = w.job.To // where everything is counted
			return exactlyonce.Run(ctx, cfg, func(ctx context.Context, b consumer.Batch, out *exactlyonce.Out) error {
				for r := range b.Records() {
					if string(r.Value) == dead {
						return errors.Join(w.job.Copies(ctx, b, out), exactlyonce.Poison(r, errors.New("no")))
					}
				}
				return w.job.Copies(ctx, b, out)
			})
		})
		pass(30 * time.Second)
		m.ends()
		w.judges(always)
	})
}
