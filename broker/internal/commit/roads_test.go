package commit

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/skeinstream/skein/internal/vfs"
)

// counted counts the calls of one kind by file name.
func counted(faults *vfs.Faults, kind vfs.Op) func(name string) int {
	var mu sync.Mutex
	counts := map[string]int{}
	faults.BeforeMutation(func(_ int, op vfs.Op, name string) {
		mu.Lock()
		defer mu.Unlock()
		if op == kind {
			counts[name]++
			counts["all"]++
		}
	})
	return func(name string) int {
		mu.Lock()
		defer mu.Unlock()
		return counts[name]
	}
}

func TestMuchOfOnePartitionGoesStraightToItsSegment(t *testing.T) {
	faults := vfs.NewFaults(vfs.NewMemory())
	cl := openCluster(t, faults, 3, Config{DirectBytes: 1000, SyncsMax: 1})
	syncs := counted(faults, vfs.OpSync)
	for range 2 {
		cl.parts[0].append(strings.Repeat("x", 600), 2)
	}
	cl.parts[1].append("small", 1)
	check(t, cl.drain())
	if syncs("seg-0") != 1 || syncs(name(1)) != 1 || syncs("seg-1") != 0 {
		t.Fatal(syncs("seg-0"), syncs(name(1)), syncs("seg-1"))
	}
	expectFrames(t, faults, "1@0")
	// The note comes with the next round.
	cl.parts[2].append("small", 1)
	check(t, cl.drain())
	expectFrames(t, faults, "1@0", "note 0@4", "2@0")
}

func TestNotesNeedNoSyncOfTheirOwn(t *testing.T) {
	faults := vfs.NewFaults(vfs.NewMemory())
	cl := openCluster(t, faults, 1, Config{DirectBytes: 1000})
	syncs := counted(faults, vfs.OpSync)
	for range 3 {
		cl.parts[0].append(strings.Repeat("x", 1000), 1)
		check(t, cl.drain())
	}
	if syncs("seg-0") != 3 || syncs(name(1)) != 0 {
		t.Fatal(syncs("seg-0"), syncs(name(1)))
	}
	expectFrames(t, faults, "note 0@1", "note 0@2")
}

func TestGroupTakesThePartitionThroughTheLog(t *testing.T) {
	faults := vfs.NewFaults(vfs.NewMemory())
	cl := openCluster(t, faults, 2, Config{DirectBytes: 1000})
	cl.parts[0].append(strings.Repeat("x", 2000), 1)
	appendGroup(cl.c, "group", cl.parts...)
	check(t, cl.drain())
	expectFrames(t, faults, "0@0", "0@1", "1@0")
}

func TestSegmentThatCannotBeWrittenBeforeTheSyncFailsAlone(t *testing.T) {
	faults := vfs.NewFaults(vfs.NewMemory())
	refused := 0
	cfg := Config{DirectBytes: 1000, Events: Events{Refused: func(n int, _ error) { refused += n }}}
	cl := openCluster(t, faults, 2, cfg)
	faults.Fail(vfs.Rule{Op: vfs.OpWrite, Name: "seg-0", Skip: 1, Times: 1, Err: syscall.ENOSPC, Short: 10})
	for range 3 {
		cl.parts[0].append(strings.Repeat("x", 1000), 1)
	}
	cl.parts[1].append("small", 1)
	check(t, cl.drain())
	p := cl.parts[0]
	if p.committed != 1 || p.next != 1 || len(p.failures) != 2 || !errors.Is(p.failures[0], ErrNotWritten) || refused != 2 {
		t.Fatal(p.committed, p.next, p.failures, refused)
	}
	if cl.parts[1].committed != 1 {
		t.Fatal("another partition failed too")
	}
	p.append("again", 1)
	check(t, cl.drain())
	if p.committed != 2 {
		t.Fatal("the partition has not recovered")
	}
}

// TestWritesBehindAFailureAreDropped: they were enqueued with offsets that their partition then had to take back, and a
// group with one of them drags down the rest of the group, and what stands behind that.
func TestWritesBehindAFailureAreDropped(t *testing.T) {
	faults := vfs.NewFaults(vfs.NewMemory())
	cl := openCluster(t, faults, 3, Config{RoundBytes: 100})
	p, q, r := cl.parts[0], cl.parts[1], cl.parts[2]
	faults.Fail(vfs.Rule{Op: vfs.OpWrite, Name: "*.wal", Times: 1, Err: syscall.ENOSPC})
	p.append(strings.Repeat("x", 100), 1) // a round of its own
	q.append("before the group", 1)
	p.append("behind", 1)
	appendGroup(cl.c, "group", p, q)
	q.append("behind the group", 1)
	r.append("untouched", 1)
	check(t, cl.drain())
	if p.committed != 0 || p.next != 0 || q.committed != 1 || q.next != 1 || r.committed != 1 {
		t.Fatal(p.committed, p.next, q.committed, q.next, r.committed)
	}
	if len(p.failures) != 3 || len(q.failures) != 2 {
		t.Fatal(p.failures, q.failures)
	}
	for _, each := range cl.parts {
		each.append("again", 1)
	}
	check(t, cl.drain())
	if p.committed != 1 || q.committed != 2 || r.committed != 2 {
		t.Fatal("not all have recovered")
	}
}

func TestSegmentThatCannotBeWrittenAfterTheSyncKeepsItsWritesPending(t *testing.T) {
	memory := vfs.NewMemory()
	faults := vfs.NewFaults(memory)
	stuck, unstuck := 0, 0
	cfg := Config{DirectBytes: 1000, Events: Events{Stuck: func(Key, error) { stuck++ }, Unstuck: func(Key) { unstuck++ }}}
	cl := openCluster(t, faults, 2, cfg)
	p, q := cl.parts[0], cl.parts[1]
	remove := faults.Fail(vfs.Rule{Op: vfs.OpWrite, Name: "seg-0", Err: syscall.ENOSPC, Short: 5})
	p.append("first", 1)
	q.append("other", 1)
	check(t, cl.drain())
	p.append(strings.Repeat("x", 2000), 1) // queues behind, on road A, though it is large
	check(t, cl.drain())
	q.append("other", 1)
	check(t, cl.drain())
	check(t, cl.c.retryStuck())
	if p.committed != 0 || p.open != 2 || len(p.failures) != 0 || q.committed != 2 || stuck != 2 {
		t.Fatal(p.committed, p.open, p.failures, q.committed, stuck)
	}
	for range 2 { // the log below them stays
		check(t, cl.checkpoint())
	}
	expectFrames(t, faults, "0@0", "1@0", "0@1", "1@1")
	recovered := openCluster(t, memory.CrashClone(3), 2, Config{})
	if recovered.parts[0].segment != 2 {
		t.Fatal("what is durable in the log is lost")
	}
	remove()
	check(t, cl.c.retryStuck())
	if p.committed != 2 || p.open != 0 || unstuck != 1 {
		t.Fatal(p.committed, p.open, unstuck)
	}
	check(t, cl.checkpoint())
	expectFrames(t, faults)
}

// relaxedWrite appends without waiting for durability.
func (p *part) relaxedWrite(content string) *Write {
	w := p.write(content, 1)
	w.Relaxed = true
	return w
}

func TestRelaxedGroupIsWholeAfterAKillWithoutAnySync(t *testing.T) {
	memory := vfs.NewMemory()
	faults := vfs.NewFaults(memory)
	cl := openCluster(t, faults, 2, Config{FileBytes: 2000, CheckpointBytes: 1 << 20})
	syncs := counted(faults, vfs.OpSync)
	for range 3 {
		check(t, cl.c.EnqueueGroup([]*Write{cl.parts[0].relaxedWrite("g"), cl.parts[1].relaxedWrite("g")}))
		check(t, cl.drain())
	}
	if n := syncs("all"); n != 0 {
		t.Fatal(n, "syncs")
	}
	check(t, cl.c.Enqueue(cl.parts[0].relaxedWrite("alone")))
	check(t, cl.drain())
	expectFrames(t, memory.KillClone(), "0@0", "1@0", "0@1", "1@1", "0@2", "1@2")
	// A power cut may take any round of them, but none before one that stays, and what is unreadable then is no damage.
	for i := range uint64(100) {
		if i%10 == 0 {
			check(t, cl.c.wal.ensureSpare())
			check(t, cl.c.wal.roll())
		}
		check(t, cl.c.EnqueueGroup([]*Write{cl.parts[0].relaxedWrite("g"), cl.parts[1].relaxedWrite(strings.Repeat("g", int(i)*20))}))
		check(t, cl.drain())
		expectPrefix(t, memory.CrashClone(i))
		expectPrefix(t, memory.CrashCloneTorn(i))
	}
}

func expectPrefix(t *testing.T, fs vfs.FS) {
	t.Helper()
	next := int64(0)
	check(t, Read(fs, "wal", func(f Frame) error {
		if f.Key.Partition == 1 {
			if f.Base != next {
				t.Fatalf("offset %d follows %d", f.Base, next-1)
			}
			next = f.Last + 1
		}
		return nil
	}))
}

func TestRoundsTakeNoMoreThanTheirShare(t *testing.T) {
	var writes []int
	cfg := Config{RoundBytes: 250, Events: Events{Round: func(s RoundStats) { writes = append(writes, s.Writes) }}}
	cl := openCluster(t, vfs.NewMemory(), 3, cfg)
	for range 4 {
		cl.parts[0].append(strings.Repeat("x", 100), 1)
	}
	appendGroup(cl.c, strings.Repeat("x", 200), cl.parts...)
	cl.parts[0].append("last", 1)
	check(t, cl.drain())
	if fmt.Sprint(writes) != "[3 4 1]" {
		t.Fatal(writes)
	}
}

// gone is a target whose partition has been deleted.
type gone struct{ *part }

func (g gone) WriteSegment(*Write) error { return fmt.Errorf("%w: deleted", ErrGone) }

func TestDeletedPartitionIsNotTriedAgain(t *testing.T) {
	cl := openCluster(t, vfs.NewMemory(), 2, Config{DirectBytes: 1000})
	p := gone{cl.parts[0]}
	for _, size := range []int{10, 2000} { // on either road
		w := p.write(strings.Repeat("x", size), 1)
		w.Target = p
		check(t, cl.c.Enqueue(w))
		cl.parts[1].append("lives", 1)
		check(t, cl.drain())
	}
	if p.open != 0 || len(p.failures) != 2 || !errors.Is(p.failures[0], ErrGone) || len(cl.c.stuck) != 0 || cl.parts[1].committed != 2 {
		t.Fatal(p.open, p.failures, len(cl.c.stuck))
	}
	check(t, cl.checkpoint())
	if len(cl.c.lanes) != 0 {
		t.Fatal("quiet partitions are remembered")
	}
}

func TestSyncInsideWriteSegmentThatFailsIsFatal(t *testing.T) {
	for _, size := range []int{10, 2000} {
		faults := vfs.NewFaults(vfs.NewMemory())
		cl := openCluster(t, faults, 1, Config{DirectBytes: 1000})
		faults.Fail(vfs.Rule{Op: vfs.OpWrite, Name: "seg-0", Err: syscall.ENOSPC, Short: 5})
		faults.Fail(vfs.Rule{Op: vfs.OpSync, Name: "seg-0", Err: syscall.EIO})
		cl.parts[0].append(strings.Repeat("x", size), 1)
		if err := cl.drain(); !errors.Is(err, ErrFatal) || len(cl.parts[0].failures) != 1 {
			t.Fatal(err, cl.parts[0].failures)
		}
	}
}
