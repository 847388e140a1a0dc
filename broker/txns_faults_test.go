package broker

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/vfs"
)

// trouble is a producer on a disk that refuses to write now and then, in the middle of whatever is going on.
type trouble struct {
	*house
	dice  *rand.Rand
	p     *txnProducer
	model *txnModel
	seen  map[string]int // what requests have failed with
}

// TestTransactionsOnADiskThatRefuses: appends fail in the middle of transactions: what adds to them early, their batches, and
// ends over the logs of several coordinators. Whoever waits is told to come again or that the disk has failed, the coordinators read their
// logs again, and every transaction is whole or was never there, before the broker is restarted and after.
func TestTransactionsOnADiskThatRefuses(t *testing.T) {
	seeds, seen := uint64(24), map[string]int{}
	if underRace {
		seeds = 4
	}
	for seed := range seeds {
		onFaultyDisk(t, txnCrashSettings(), func(h *house) {
			r := &trouble{
				house: h, dice: rand.New(rand.NewPCG(seed, 31)), seen: seen,
				model: &txnModel{parts: map[int][]partitionName{}, offsets: map[int]bool{}},
			}
			r.run(seed)
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		})
	}
	t.Logf("requests failed with %v", seen)
	for _, want := range []*kerr.Error{kerr.NotCoordinator, kerr.NotEnoughReplicas, kerr.KafkaStorageError} {
		if seen[want.Message] == 0 && !underRace {
			t.Errorf("no request was answered %s", want.Message)
		}
	}
}

func (r *trouble) run(seed uint64) {
	r.createTopic("a", 2)
	r.createTopic("b", 1)
	r.p = r.producer("id")
	r.p.w.old = seed%2 == 1
	r.must(retrying(r.p.begin))
	r.must(retrying(func() error { return r.p.commitOffset("g", "a", 100) })) // both topics of coordinators are there
	r.must(r.p.end(false))
	for i := range 16 {
		heal := r.faults.Fail(r.rule())
		failed := r.transaction(i)
		heal()
		pass(5 * time.Second) // the disk is looked at again, and so are logs
		if failed != nil {
			r.note(failed)
			r.comeAgain(i)
		}
	}
	check := &txnCrash{model: r.model, where: fmt.Sprintf("seed %d", seed)}
	lookAtTransactions(r.house, check)
	for _, at := range crashPartitions() {
		if _, open := r.committedValues(at); open > 0 {
			r.t.Errorf("%s has an open transaction, and its producer has ended all", at)
		}
	}
	r.restart()
	pass(5 * time.Second)
	lookAtTransactions(r.house, check)
}

// rule is one for a few writes, some of which may get through in part.
func (r *trouble) rule() vfs.Rule {
	names := []string{"*.wal", "*.wal", "*.wal", "*.log", "*"}
	return vfs.Rule{
		Op: vfs.OpWrite, Name: names[r.dice.IntN(len(names))], Skip: r.dice.IntN(12), Times: 1 + r.dice.IntN(3), Err: syscall.ENOSPC,
		Short: []int{-1, 0, 30, 90}[r.dice.IntN(4)],
	}
}

// transaction writes to some partitions, and to the group's, and ends.
func (r *trouble) transaction(i int) error {
	r.model.ends = append(r.model.ends, "open")
	for _, at := range crashPartitions() {
		if r.dice.IntN(4) == 0 {
			continue
		}
		r.model.parts[i] = append(r.model.parts[i], at)
		if err := r.p.send(at, valueOf(i, r.dice)); err != nil {
			return fmt.Errorf("sending to %s: %w", at, err)
		}
	}
	r.model.offsets[i] = len(r.model.parts[i]) == 0 || r.dice.IntN(3) > 0
	if r.model.offsets[i] {
		if err := r.p.commitOffset("g", "a", int64(i)); err != nil {
			return fmt.Errorf("committing an offset: %w", err)
		}
	}
	return r.ends(i, r.dice.IntN(4) > 0)
}

func (r *trouble) ends(i int, commit bool) error {
	r.model.ends[i] = map[bool]string{true: "asked", false: "aborted"}[commit]
	if err := r.p.end(commit); err != nil {
		return fmt.Errorf("ending: %w", err)
	}
	if commit {
		r.model.ends[i] = "committed"
	}
	return nil
}

// note counts what a request has failed with: no client is told more than that it should come again, or of the disk.
func (r *trouble) note(err error) {
	var code *kerr.Error
	if !errors.As(err, &code) {
		r.t.Errorf("%v", err)
		return
	}
	r.seen[code.Message]++
}

// comeAgain does what clients do after a failure: they end the transaction again if it was to end, or become a new producer,
// which aborts what is open.
func (r *trouble) comeAgain(i int) {
	again := r.model.ends[i] == "asked"
	if r.model.ends[i] == "open" {
		r.model.ends[i] = "aborted"
	}
	if again && r.dice.IntN(2) == 0 {
		r.must(retrying(func() error { return r.p.end(true) }))
		r.model.ends[i] = "committed"
		return
	}
	r.must(retrying(r.p.begin))
	synctest.Wait()
}

// TestAdditionsThatAreLost: the write-ahead log refuses the record that a partition has come into a transaction, but takes
// the batch that has brought it, or that goes to its segment at once. It was acknowledged, so it is committed (R-E13).
func TestAdditionsThatAreLost(t *testing.T) {
	for _, first := range []bool{false, true} { // of the transaction
		onFaultyDisk(t, oneShard(), func(h *house) {
			h.createTopic("a", 1)
			h.createTopic("b", 1)
			a, b := partitionName{"a", 0}, partitionName{"b", 0}
			p := h.producer("id")
			h.must(retrying(p.begin))
			if !first {
				h.must(p.send(b, "small"))
			}
			heal := h.faults.Fail(vfs.Rule{Op: vfs.OpWrite, Name: "*.wal", Times: 1, Err: syscall.ENOSPC})
			h.must(p.send(a, "large"+strings.Repeat(" ", 300<<10)))
			heal()
			pass(time.Second / 2)
			if first {
				h.must(retrying(func() error { return p.send(b, "small") }))
			}
			pass(5 * time.Second)
			if _, open := h.committedValues(a); open != 1 {
				t.Errorf("%d transactions are open", open)
			}
			h.must(retrying(func() error { return p.end(true) }))
			h.expectCommitted(b, "small")
			if values, _ := h.committedValues(a); len(values) != 1 {
				t.Errorf("%d values were acknowledged and committed", len(values))
			}
		})
	}
}

// TestOffsetsWhoseAdditionIsLost are not acknowledged: the client sends them again.
func TestOffsetsWhoseAdditionIsLost(t *testing.T) {
	settings := oneShard()
	settings["offset.metadata.max.bytes"] = "1000000"
	onFaultyDisk(t, settings, func(h *house) {
		h.createTopic("a", 1)
		p := h.producer("id")
		h.must(retrying(p.begin))
		h.must(retrying(func() error { return p.commitOffset("g", "a", 1) }))
		h.must(p.end(true))
		heal := h.faults.Fail(vfs.Rule{Op: vfs.OpWrite, Name: "*.wal", Times: 1, Err: syscall.ENOSPC})
		req := p.offsetRequest("g", "a", 2)
		req.Topics[0].Partitions[0].Metadata = kmsg.StringPtr(strings.Repeat("m", 300<<10)) // it goes to its segment at once
		resp, err := ask[*kmsg.TxnOffsetCommitResponse](p.w, req)
		h.must(err)
		wantError(t, "offsets", failed(resp.Topics[0].Partitions[0].ErrorCode), kerr.NotCoordinator)
		heal()
		h.must(retrying(func() error { return p.commitOffset("g", "a", 3) }))
		h.must(p.end(true))
		h.expectOffset("g", "a", 3)
	})
}
