package broker

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/anishathalye/porcupine"

	"github.com/skeinstream/skein/internal/vfs"
)

// register is where one offset is committed.
type register struct {
	group     string
	partition int32
}

// history is what clients have done to registers, on a clock that only counts. What was not answered when the broker was
// killed may have happened before that, or never.
type history struct {
	mu      sync.Mutex
	clock   int64
	killed  bool
	killing int64 // when the last broker was killed
	done    map[register][]porcupine.Operation
	unknown map[register][]porcupine.Operation // writes
	read    map[int64]bool                     // values; each is written once
	next    int64                              // value
}

type access struct {
	write bool
	value int64
}

func newHistory() *history {
	return &history{done: map[register][]porcupine.Operation{}, unknown: map[register][]porcupine.Operation{}, read: map[int64]bool{}}
}

// begin starts an operation; a write gets a value that nobody else writes. It is false once the broker is dead.
func (h *history) begin(client int, write bool) (op porcupine.Operation, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.clock++
	a := access{write: write}
	if write {
		h.next++
		a.value = h.next
	}
	return porcupine.Operation{ClientId: client, Input: a, Call: h.clock}, !h.killed
}

// end notes what came of an operation; ok says that it was answered.
func (h *history) end(r register, op porcupine.Operation, value int64, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.clock++
	op.Output, op.Return = value, h.clock
	write := op.Input.(access).write
	switch {
	case ok && !h.killed:
		h.done[r] = append(h.done[r], op)
		if !write {
			h.read[value] = true
		}
	case write:
		op.Return = h.killing
		h.unknown[r] = append(h.unknown[r], op)
	}
}

// kill ends the life of a broker: nothing that is answered from now on counts. What it left on its disk is returned.
func (h *history) kill(disk *vfs.Memory, seed uint64) *vfs.Memory {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.killed {
		return nil
	}
	h.clock++
	h.killed, h.killing = true, h.clock
	if seed%2 == 0 {
		return disk.KillClone()
	}
	return disk.CrashClone(seed)
}

// goOn begins the life of another broker.
func (h *history) goOn() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.killed = false
}

// check finds an order of all operations on a register in which each happened between its call and its return, and every
// read saw the last write. A write that was not answered and that nobody has read might as well not have been.
func (h *history) check(t *testing.T) {
	t.Helper()
	model := porcupine.Model{
		Init: func() any { return int64(-1) },
		Step: func(state, input, output any) (bool, any) {
			if a := input.(access); a.write {
				return true, a.value
			}
			return output == state, state
		},
	}
	for r, ops := range h.done {
		for _, op := range h.unknown[r] {
			if h.read[op.Input.(access).value] {
				ops = append(ops, op)
			}
		}
		if !porcupine.CheckOperations(model, ops) {
			t.Errorf("%v: no order explains what clients saw: %v", r, ops)
		}
		t.Logf("%v: %d operations, %d writes without an answer", r, len(ops), len(h.unknown[r]))
	}
}

// TestCommittedOffsetsAreLinearizable: commits and fetches of several clients, of brokers that are killed at any change of
// their disk, some of them with the page cache of their machine. Read-your-writes for offsets, at all times.
func TestCommittedOffsetsAreLinearizable(t *testing.T) {
	seeds := uint64(20)
	if underRace {
		seeds = 2
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { killAndCheck(t, seed) })
		})
	}
}

func killAndCheck(t *testing.T, seed uint64) {
	const lives = 4
	history, dice, remains := newHistory(), rand.New(rand.NewPCG(seed, 5)), vfs.NewMemory()
	for life := range lives {
		disk, faults := remains, vfs.NewFaults(remains)
		h := &house{t: t, disk: disk, faults: faults, settings: groupCrashSettings()}
		h.open()
		if life == 0 {
			h.createTopic("t", 2)
		}
		left := make(chan *vfs.Memory, 1)
		at := faults.Mutations() + 20 + dice.IntN(300)
		faults.BeforeMutation(func(n int, _ vfs.Op, _ string) {
			if n >= at {
				for range 1000 { // others may see what is not on the disk yet, if anybody lets them
					runtime.Gosched()
				}
				if clone := history.kill(disk, seed*uint64(lives)+uint64(life)); clone != nil {
					left <- clone
				}
			}
		})
		var clients sync.WaitGroup
		for c := range 5 {
			clients.Go(func() { history.client(t, h, life*10+c, rand.New(rand.NewPCG(seed, uint64(life*10+c)))) })
		}
		clients.Wait()
		faults.BeforeMutation(func(int, vfs.Op, string) {})
		h.shutdown()
		remains = <-left
		history.goOn()
	}
	h := &house{t: t, disk: remains, settings: groupCrashSettings()}
	h.open()
	w := h.wire()
	for r := range history.done {
		history.access(w, 99, r, false)
	}
	h.shutdown()
	history.check(t)
}

// client commits and fetches until the broker is killed.
func (h *history) client(t *testing.T, house *house, id int, dice *rand.Rand) {
	w, err := dial(house.b)
	if err != nil {
		t.Error(err)
		return
	}
	defer w.close()
	for h.access(w, id, register{fmt.Sprint("g", dice.IntN(2)), int32(dice.IntN(2))}, dice.IntN(2) == 0) {
	}
}

// access does one thing to a register and reports whether to go on.
func (h *history) access(w *wire, client int, r register, write bool) bool {
	op, ok := h.begin(client, write)
	if !ok {
		return false
	}
	value := op.Input.(access).value
	err := retrying(func() (err error) {
		if write {
			return commitOffset(w, r.group, nil, "t", r.partition, value)
		}
		value, err = committedOffset(w, r.group, "t", r.partition)
		return err
	})
	h.end(r, op, value, err == nil)
	return true
}

// groupCrashSettings are those of brokers that die.
func groupCrashSettings() map[string]string {
	return map[string]string{
		"connections.max.idle.ms": "-1", "skein.wal.bytes": "1048576", "skein.wal.file.bytes": "65536",
		"offsets.topic.num.partitions": "2",
	}
}
