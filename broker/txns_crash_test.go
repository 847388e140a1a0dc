package broker

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/skeinstream/skein/internal/txn"
	"github.com/skeinstream/skein/internal/vfs"
)

// txnModel is what is known of each transaction: its number is what it writes everywhere, and the offset that it commits.
type txnModel struct {
	ends    []string                // "open", "asked" to commit, "committed", "aborted" (also asked to)
	parts   map[int][]partitionName // where each has written
	offsets map[int]bool            // which have committed an offset
}

// Clone is for wrecks.
func (m *txnModel) Clone() *txnModel {
	c := &txnModel{ends: slices.Clone(m.ends), parts: map[int][]partitionName{}, offsets: map[int]bool{}}
	for i, parts := range m.parts {
		c.parts[i] = slices.Clone(parts)
	}
	for i := range m.offsets {
		c.offsets[i] = true
	}
	return c
}

// txnCrash is a disk as the end of a broker has left it.
type txnCrash = wreck[*txnModel]

// txnRun is one producer on a disk that is looked at before some of its changes.
type txnRun struct {
	*house
	wrecks[*txnModel]
	dice *rand.Rand
	p    *txnProducer
	two  bool // ends have two phases, since partitions are said to be unreachable
}

func crashPartitions() []partitionName { return []partitionName{{"a", 0}, {"a", 1}, {"b", 0}} }

func txnCrashSettings() map[string]string {
	s := groupCrashSettings()
	s["transaction.state.log.num.partitions"] = "2"
	return s
}

// TestTransactionsSurviveACrashAtAnyChangeOfTheDisk: after a kill or a power cut at any write a transaction is in all its
// partitions and offsets, or in none, what was acknowledged counts, and the coordinator agrees with the partitions.
func TestTransactionsSurviveACrashAtAnyChangeOfTheDisk(t *testing.T) {
	seeds := uint64(8)
	if underRace {
		seeds = 2
	}
	surviveWrecks(t, seeds, runTransactions, checkTransactions)
}

// runTransactions makes some transactions: seeds tell the protocols and the forms of ends apart.
func runTransactions(t *testing.T, seed uint64) (*wrecks[*txnModel], []string) {
	disk := vfs.NewMemory()
	r := &txnRun{
		house: &house{t: t, disk: disk, faults: vfs.NewFaults(disk), settings: txnCrashSettings()},
		dice:  rand.New(rand.NewPCG(seed, 12)), two: seed%2 == 1,
	}
	r.seed, r.model = seed, &txnModel{parts: map[int][]partitionName{}, offsets: map[int]bool{}}
	r.open()
	r.createTopic("a", 2)
	r.createTopic("b", 1)
	r.p = r.producer("id")
	if seed%4 >= 2 {
		r.p.old()
	}
	r.follow(r.faults, disk, func(n int, m *txnModel) int { return txnCuts(seed, n, m) })
	r.must(r.p.begin())
	for i := range 12 {
		if err := r.transaction(i); err != nil {
			t.Errorf("transaction %d: %v", i, err)
			break
		}
	}
	r.shutdown()
	return &r.wrecks, nil
}

// valueOf names transaction i, sometimes at such length that it goes to a segment at once.
func valueOf(i int, dice *rand.Rand) string {
	value := strconv.Itoa(i)
	if dice.IntN(6) == 0 {
		value += strings.Repeat(" ", 300<<10)
	}
	return value
}

// txnCuts: a power cut may go in several ways while a transaction ends, else there is one at every third change.
func txnCuts(seed uint64, n int, m *txnModel) int {
	switch {
	case len(m.ends) > 0 && m.ends[len(m.ends)-1] == "asked":
		return 4
	case n%3 == int(seed)%3:
		return 1
	}
	return 0
}

// transaction writes to some partitions, and to the group's, and ends.
func (r *txnRun) transaction(i int) error {
	r.know(func(m *txnModel) { m.ends = append(m.ends, "open") })
	for _, at := range crashPartitions() {
		if r.dice.IntN(3) == 0 {
			continue
		}
		r.know(func(m *txnModel) { m.parts[i] = append(m.parts[i], at) })
		if err := r.p.send(at, valueOf(i, r.dice)); err != nil {
			return fmt.Errorf("sending to %s: %w", at, err)
		}
	}
	if len(r.model.parts[i]) == 0 || r.dice.IntN(3) > 0 {
		r.know(func(m *txnModel) { m.offsets[i] = true })
		if err := r.p.commitOffset("g", "a", int64(i)); err != nil {
			return fmt.Errorf("committing an offset: %w", err)
		}
	}
	commit := r.dice.IntN(3) > 0
	asked, then := "aborted", "aborted"
	if commit {
		asked, then = "asked", "committed"
	}
	r.know(func(m *txnModel) { m.ends[i] = asked })
	if err := r.finish(commit, i); err != nil {
		return fmt.Errorf("ending: %w", err)
	}
	r.know(func(m *txnModel) { m.ends[i] = then })
	pass(time.Second) // markers that were missing are written
	return nil
}

func (r *txnRun) finish(commit bool, i int) error {
	if !r.two {
		return r.p.end(commit)
	}
	var unreachable []txn.Partition
	for _, at := range r.model.parts[i] {
		if r.dice.IntN(2) == 0 {
			unreachable = append(unreachable, txn.Partition{Topic: at.topic, Partition: at.index})
		}
	}
	if r.model.offsets[i] && r.dice.IntN(2) == 0 {
		unreachable = append(unreachable, txn.Partition{Topic: offsetsTopic}, txn.Partition{Topic: offsetsTopic, Partition: 1})
	}
	return r.p.endWithout(r.house, commit, unreachable)
}

// checkTransactions opens a broker on what is left. What was decided has become whole after a while; then the producer comes again, which
// ends what was open.
func checkTransactions(t *testing.T, c *txnCrash) {
	h := &house{t: t, disk: c.disk, settings: txnCrashSettings()}
	h.open()
	pass(5 * time.Second)
	lookAtTransactions(h, c)
	if h.b.table.Topic("b") != nil {
		p := h.producer("id")
		if err := retrying(p.begin); err != nil {
			t.Errorf("%s: the producer comes again: %v", c.where, err)
		}
		lookAtTransactions(h, c)
		for _, at := range crashPartitions() {
			if _, open := h.committedValues(at); open > 0 {
				t.Errorf("%s: %s has an open transaction, and the producer has come again", c.where, at)
			}
		}
		if err := retrying(func() error { return p.send(partitionName{"b", 0}, "after") }); err != nil {
			t.Errorf("%s: the producer goes on: %v", c.where, err)
		}
		if err := p.end(true); err != nil {
			t.Errorf("%s: the producer ends a transaction: %v", c.where, err)
		}
	}
	h.shutdown()
}

// lookAtTransactions checks that every transaction is whole, and that the coordinator says the same of the last.
func lookAtTransactions(h *house, c *txnCrash) {
	state := h.describeTxn("id").State
	seen, openAt := map[partitionName][]string{}, 0
	for _, at := range crashPartitions() {
		if h.b.partition(at.topic, at.index) == nil {
			continue
		}
		values, open := h.committedValues(at)
		for _, v := range values {
			seen[at] = append(seen[at], strings.TrimSpace(v)) // some are long
		}
		openAt += open
	}
	if openAt > 0 && state != "Ongoing" {
		h.t.Errorf("%s: transactions are open in %d partitions, the coordinator says %s", c.where, openAt, state)
	}
	committed := int64(-1)
	if err := retrying(func() (err error) {
		committed, err = committedOffset(h.wire(), "g", "a", 0)
		return err
	}); err != nil {
		h.t.Errorf("%s: fetching the offset: %v", c.where, err)
	}
	want := int64(-1)
	for i, end := range c.model.ends {
		visible := 0
		for _, at := range c.model.parts[i] {
			if slices.Contains(seen[at], strconv.Itoa(i)) {
				visible++
			}
		}
		parts := len(c.model.parts[i])
		if c.model.offsets[i] { // of those later ones which count the last is the group's
			if counts := end == "committed" || end == "asked" && (parts == 0 && committed == int64(i) || visible > 0); counts {
				want = int64(i)
			}
		}
		switch {
		case end == "committed" && visible != parts:
			h.t.Errorf("%s: transaction %d was acknowledged and is in %d of %d partitions", c.where, i, visible, parts)
		case end == "asked" && visible != 0 && visible != parts:
			h.t.Errorf("%s: transaction %d is in %d of %d partitions", c.where, i, visible, parts)
		case (end == "open" || end == "aborted") && visible > 0:
			h.t.Errorf("%s: transaction %d is %s and seen in %d partitions", c.where, i, end, visible)
		case end == "asked" && visible > 0 && state == "Ongoing":
			h.t.Errorf("%s: transaction %d is committed, the coordinator says %s", c.where, i, state)
		}
	}
	if committed != want {
		h.t.Errorf("%s: the group's offset is %d, want %d", c.where, committed, want)
	}
}
