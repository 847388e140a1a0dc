package coordinator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skeinstream/skein/broker/internal/catalog"
	"github.com/skeinstream/skein/broker/internal/catalog/catalogtest"
	"github.com/skeinstream/skein/broker/internal/commit"
	"github.com/skeinstream/skein/broker/internal/partition"
	"github.com/skeinstream/skein/internal/machine"
	"github.com/skeinstream/skein/internal/vfs"
)

const (
	crashDir    = "data"
	crashShards = 2
)

// broker is as much of one as a coordinator needs: a catalog and the partitions of two topics.
type broker struct {
	t       *testing.T
	catalog *catalog.Catalog
	table   *partition.Table
	runs    chan error
}

func openBroker(t *testing.T, fs vfs.FS) *broker {
	b := &broker{t: t, runs: make(chan error, 1)}
	b.check(fs.MkdirAll(crashDir))
	var err error
	b.catalog, err = catalog.Open(fs, crashDir, catalog.Options{
		Random: rand.NewChaCha8([32]byte{1}),
		Published: func(_, after *catalog.Snapshot) {
			if b.table != nil {
				b.table.Apply(after)
			}
		},
	})
	b.check(err)
	b.table, err = partition.Open(context.Background(), partition.Options{
		FS: fs, Dir: crashDir, LeaderEpoch: b.catalog.StartCount(), Forget: b.catalog.ForgetTopics,
		Commit: commit.Config{RoundBytes: 1, DirectBytes: 4000}, // a round for each append, so that a group owes nothing to its round
	}, b.catalog.Snapshot())
	b.check(err)
	return b
}

func (b *broker) check(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *broker) create(name string, partitions int32, configs map[string]string) {
	_, err := catalogtest.CreateTopic(context.Background(), b.catalog, catalog.Topic{Name: name, Partitions: partitions, Configs: configs})
	b.check(err)
}

func (b *broker) run() {
	go func() { b.runs <- b.table.Run(context.Background()) }()
	synctest.Wait()
}

func (b *broker) stop(ran bool) {
	b.t.Helper()
	err := b.table.Shutdown(context.Background())
	if ran {
		err = errors.Join(err, <-b.runs)
	}
	b.check(errors.Join(err, b.catalog.Close()))
}

func (b *broker) log(topic string, shard int32) *PartitionLog {
	return NewPartitionLog(b.table.Topic(topic).Partition(shard), LogOptions{Table: b.table, Now: time.Now})
}

// state is what the log of a partition says.
func (b *broker) state(topic string, shard int32) durable {
	b.t.Helper()
	s := settled{durable{}, map[int64][]machine.Record{}}
	b.check(b.log(topic, shard).Replay(context.Background(), func(r machine.Record) error {
		r.Key, r.Value = bytes.Clone(r.Key), bytes.Clone(r.Value)
		s.apply(r)
		return nil
	}))
	return s.durable
}

func (b *broker) coordinator() *Coordinator {
	return Open(Config{
		Shards:  crashShards,
		Open:    func(shard int32) (Log, error) { return b.log("coordinated", shard), nil },
		Machine: func(int32) machine.Machine { return newToy() },
	})
}

// moment is a disk as a crash has left it, and what had been acknowledged before.
type moment struct {
	when  string
	disk  *vfs.Memory
	acked map[string]bool
}

// witness takes moments while a workload runs.
type witness struct {
	memory  *vfs.Memory
	seed    uint64
	mu      sync.Mutex // guards what follows
	acked   map[string]bool
	moments []moment
}

func (w *witness) look(n int, op vfs.Op, name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	acked := maps.Clone(w.acked)
	for kind, disk := range []*vfs.Memory{w.memory.KillClone(), w.memory.CrashClone(w.seed + uint64(n)), w.memory.CrashCloneTorn(w.seed + uint64(n))} {
		w.moments = append(w.moments, moment{fmt.Sprintf("seed %d, change %d (%d %s), crash %d", w.seed, n, op, name, kind), disk, acked})
	}
}

// verify opens the disk of a moment and compares it with what was acknowledged. A step that counts up two keys in two
// partitions has done both or nothing.
func (m moment) verify(t *testing.T) {
	t.Helper()
	b := openBroker(t, m.disk)
	defer b.stop(false)
	if b.table.Topic("coordinated") == nil || b.table.Topic("other") == nil {
		return // nothing has been acknowledged yet
	}
	found := durable{}
	for shard := range int32(crashShards) {
		maps.Copy(found, b.state("coordinated", shard))
	}
	other := b.state("other", 0)
	for key := range m.acked {
		if found[key] == 0 {
			t.Errorf("%s: %s was acknowledged and is lost", m.when, key)
		}
	}
	for key := range found {
		if strings.HasPrefix(key, "both") && other[key] == 0 {
			t.Errorf("%s: half of %s is lost", m.when, key)
		}
	}
	for key := range other {
		if found[key] == 0 {
			t.Errorf("%s: %s is there by half", m.when, key)
		}
	}
}

// What a coordinator has acknowledged survives a crash at any change of the disk, and its groups are there whole or not at all.
func TestCrashes(t *testing.T) {
	seeds := uint64(4)
	if testing.Short() {
		seeds = 1
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { crashes(t, seed) })
		})
	}
}

func crashes(t *testing.T, seed uint64) {
	w := &witness{memory: vfs.NewMemory(), seed: seed << 32, acked: map[string]bool{}}
	faults := vfs.NewFaults(w.memory)
	b := openBroker(t, faults)
	b.run()
	b.create("coordinated", crashShards, map[string]string{"cleanup.policy": "compact"})
	b.create("other", 1, map[string]string{"skein.durability": []string{"always", "os"}[seed%2]})
	faults.BeforeMutation(w.look)
	c := b.coordinator()
	synctest.Wait()
	dice := rand.New(rand.NewPCG(seed, 9))
	for i := range 60 {
		key, shard := fmt.Sprint("one", i), dice.Int32N(crashShards)
		var in any = add{key}
		switch dice.IntN(4) {
		case 0:
			key = fmt.Sprint("both", i)
			in = several{key, key}
		case 1:
			in = bulky{key, dice.IntN(3000)}
		}
		c.Do(shard, in, func(_ any, err error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			if err != nil {
				t.Errorf("%s: %v", key, err)
			}
			w.acked[key] = true
		})
		if dice.IntN(4) == 0 {
			synctest.Wait()
		}
	}
	synctest.Wait()
	b.check(c.Shutdown(context.Background()))
	b.stop(true)
	if len(w.acked) != 60 || len(w.moments) < 100 {
		t.Fatalf("%d of 60 acknowledged, %d moments", len(w.acked), len(w.moments))
	}
	for _, m := range w.moments {
		m.verify(t)
	}
	moment{"after a clean end", w.memory, w.acked}.verify(t)
}

// A full disk: refused appends leave no trace, everybody is answered, and the coordinator recovers by itself.
func TestWritesThatFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := vfs.NewFaults(vfs.NewMemory())
		b := openBroker(t, faults)
		b.run()
		b.create("coordinated", crashShards, nil)
		b.create("other", 1, nil)
		c := b.coordinator()
		synctest.Wait()
		dice := rand.New(rand.NewPCG(3, 4))
		answers := map[string]error{}
		told, failed := 0, 0
		var mu sync.Mutex
		for i := range 200 {
			remove := func() {}
			if dice.IntN(4) == 0 {
				remove = faults.Fail(vfs.Rule{Op: vfs.OpWrite, Name: "*.wal", Skip: dice.IntN(3), Times: 1, Err: errDisk})
			}
			for j := range 1 + dice.IntN(3) {
				key := fmt.Sprint("one", i, ".", j)
				var in any = add{key}
				if dice.IntN(3) == 0 {
					key = fmt.Sprint("both", i, ".", j)
					in = several{key, key}
				}
				mu.Lock()
				answers[key] = errors.New("not told")
				mu.Unlock()
				c.Do(dice.Int32N(crashShards), in, func(_ any, err error) {
					mu.Lock()
					defer mu.Unlock()
					answers[key] = err
					told++
				})
			}
			synctest.Wait()
			remove()
			time.Sleep(time.Duration(dice.IntN(2)) * 40 * time.Second)
			synctest.Wait()
		}
		b.check(c.Shutdown(context.Background()))
		found, other := durable{}, b.state("other", 0)
		for shard := range int32(crashShards) {
			maps.Copy(found, b.state("coordinated", shard))
		}
		for key, err := range answers {
			if err != nil {
				failed++
			}
			if err == nil && found[key] == 0 {
				t.Errorf("%s was acknowledged and is lost", key)
			}
			if strings.HasPrefix(key, "both") && found[key] != other[key] {
				t.Errorf("%s is there by half", key)
			}
			if errors.Is(err, errDisk) || err != nil && !errors.Is(err, ErrNotCoordinator) && !errors.Is(err, ErrLoading) {
				t.Errorf("%s: %v", key, err)
			}
		}
		if told != len(answers) || failed == 0 || failed == told {
			t.Errorf("%d of %d told, %d of them of a failure", told, len(answers), failed)
		}
		b.stop(true)
	})
}

func (b *broker) delete(topic string) {
	b.t.Helper()
	b.check(catalogtest.DeleteTopic(context.Background(), b.catalog, b.table.Topic(topic).ID))
}
