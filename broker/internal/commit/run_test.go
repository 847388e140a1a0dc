package commit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skeinstream/skein/internal/vfs"
)

// running runs the cluster's committer until stop, which returns what Run did.
func (cl *cluster) running() (stop func() error) {
	result := make(chan error, 1)
	if !cl.c.start() {
		cl.t.Fatal("it runs already")
	}
	go func() { result <- cl.c.run(context.Background()) }()
	return func() error {
		if err := cl.c.Shutdown(context.Background()); err != nil {
			return err
		}
		return <-result
	}
}

func (cl *cluster) tell() {
	for _, p := range cl.parts {
		p.told = make(chan struct{}, 10000)
	}
}

func TestProducersAtOnceAllGetTheirAnswers(t *testing.T) {
	memory := vfs.NewMemory()
	faults := vfs.NewFaults(memory)
	var cl *cluster
	checkpoints := atomic.Int64{}
	cfg := small()
	cfg.SyncsMax = 3
	cfg.SyncSegments = func() error { return cl.syncSegments() }
	cfg.Events.Checkpoint = func(int, time.Duration, error) { checkpoints.Add(1) }
	cl = openCluster(t, faults, 4, cfg)
	faults.BeforeMutation(func(n int, _ vfs.Op, _ string) {
		if n%50 == 0 {
			acked := cl.acked()
			openCluster(t, memory.CrashClone(uint64(n)), 4, small()).expectAcked(acked, "while running")
		}
	})
	cl.tell()
	stop := cl.running()
	var producers sync.WaitGroup
	for i := range 8 {
		producers.Go(func() {
			p := cl.parts[i%4]
			for j := range 60 {
				switch {
				case j%20 == 19:
					appendGroup(cl.c, fmt.Sprint("group ", i, j), cl.parts...)
				case j%7 == 0:
					p.append(fmt.Sprint(i, j, strings.Repeat("x", 1500)), 1)
				default:
					p.append(fmt.Sprint(i, j), 2)
				}
				if j%3 == 0 {
					<-p.told
				}
			}
		})
	}
	producers.Wait()
	check(t, stop())
	for _, p := range cl.parts {
		if p.open != 0 || p.committed != p.next || len(p.failures) != 0 {
			t.Fatal(p.name, p.open, p.committed, p.next, p.failures)
		}
	}
	if checkpoints.Load() < 2 {
		t.Fatal(checkpoints.Load(), "checkpoints")
	}
	expectFrames(t, memory)
	openCluster(t, memory.CrashClone(1), 4, small()).expectAcked(cl.acked(), "after the end")
}

func TestRoundsGoOnDuringACheckpoint(t *testing.T) {
	var cl *cluster
	syncing, release := make(chan struct{}), make(chan struct{})
	cfg := Config{FileBytes: 1000, CheckpointBytes: 2000}
	cfg.SyncSegments = func() error {
		syncing <- struct{}{}
		<-release
		return nil
	}
	cl = openCluster(t, vfs.NewMemory(), 1, cfg)
	cl.tell()
	stop := cl.running()
	p := cl.parts[0]
	p.append(strings.Repeat("x", 2000), 1)
	<-p.told
	<-syncing
	for range 5 {
		p.append("during the checkpoint", 1)
		<-p.told
	}
	release <- struct{}{}
	go func() { <-syncing; release <- struct{}{} }() // the last checkpoint
	check(t, stop())
}

func TestFailedSyncKillsTheCommitter(t *testing.T) {
	faults := vfs.NewFaults(vfs.NewMemory())
	var told []error
	cl := openCluster(t, faults, 2, Config{DirectBytes: 1000, OnFatal: func(err error) { told = append(told, err) }})
	cl.tell()
	faults.Fail(vfs.Rule{Op: vfs.OpSync, Name: "seg-0", Times: 1, Err: syscall.EIO})
	result := make(chan error, 1)
	cl.parts[0].append(strings.Repeat("x", 1000), 1)
	cl.parts[1].append("in the same round", 1)
	go func() { result <- cl.c.Run(t.Context()) }()
	<-cl.parts[0].told
	<-cl.parts[1].told
	err := <-result
	if !errors.Is(err, ErrFatal) || !errors.Is(err, syscall.EIO) || len(told) != 1 || told[0] != err {
		t.Fatal(err, told)
	}
	for _, p := range cl.parts {
		if len(p.failures) != 1 || p.failures[0] != err || p.committed != 0 {
			t.Fatal(p.failures, p.committed)
		}
	}
	if err := cl.c.Enqueue(&Write{Target: cl.parts[0]}); !errors.Is(err, ErrFatal) {
		t.Fatal(err)
	}
	check(t, cl.c.Shutdown(t.Context()))
	if err := cl.c.Checkpoint(t.Context(), cl.syncSegments); !errors.Is(err, ErrClosed) {
		t.Fatal(err)
	}
}

func TestFailedSyncOfACheckpointIsFatal(t *testing.T) {
	cl := openCluster(t, vfs.NewMemory(), 1, Config{})
	cl.tell()
	result := make(chan error, 1)
	go func() { result <- cl.c.Run(context.Background()) }()
	cl.parts[0].append("x", 1)
	<-cl.parts[0].told
	err := cl.c.Checkpoint(t.Context(), func() error { return syscall.EIO })
	if !errors.Is(err, ErrFatal) {
		t.Fatal(err)
	}
	if runErr := <-result; runErr != err {
		t.Fatal(runErr)
	}
	if cl.parts[0].append("late", 1) != nil {
		t.Fatal("a dead committer took a write")
	}
}

func TestFailedSyncOfTheLastCheckpointIsReported(t *testing.T) {
	cl := openCluster(t, vfs.NewMemory(), 1, Config{SyncSegments: func() error { return syscall.EIO }})
	if err := cl.running()(); !errors.Is(err, ErrFatal) {
		t.Fatal(err)
	}
}

func TestEndOfTheContextFailsWhatIsQueued(t *testing.T) {
	cl := openCluster(t, vfs.NewMemory(), 1, Config{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := cl.c.Run(ctx)
	if !errors.Is(err, ErrClosed) || !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if cl.parts[0].append("late", 1) != nil || !errors.Is(cl.parts[0].failures[0], ErrClosed) {
		t.Fatal(cl.parts[0].failures)
	}
}

func TestShutdownFinishesWhatIsQueuedAndTakesNoMore(t *testing.T) {
	cl := openCluster(t, vfs.NewMemory(), 1, Config{})
	for range 10 {
		cl.parts[0].append("x", 1)
	}
	check(t, cl.running()())
	if cl.parts[0].committed != 10 {
		t.Fatal(cl.parts[0].committed)
	}
	if err := cl.c.Enqueue(&Write{Target: cl.parts[0]}); !errors.Is(err, ErrClosed) {
		t.Fatal(err)
	}
	check(t, cl.c.Run(t.Context()))
	check(t, cl.c.Shutdown(t.Context()))
}

func TestShutdownBeforeRun(t *testing.T) {
	cl := openCluster(t, vfs.NewMemory(), 1, Config{})
	cl.parts[0].append("x", 1)
	check(t, cl.c.Shutdown(t.Context()))
	if failures := cl.parts[0].failures; len(failures) != 1 || !errors.Is(failures[0], ErrClosed) {
		t.Fatal(failures)
	}
	check(t, cl.c.Run(t.Context()))
	if err := cl.c.Checkpoint(t.Context(), cl.syncSegments); !errors.Is(err, ErrClosed) {
		t.Fatal(err)
	}
}

func TestCheckpointWaitsNoLongerThanItsContext(t *testing.T) {
	cl := openCluster(t, vfs.NewMemory(), 1, Config{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := cl.c.Checkpoint(ctx, cl.syncSegments); !errors.Is(err, context.Canceled) {
		t.Fatal(err) // nothing runs that could answer
	}
	check(t, cl.c.Shutdown(t.Context()))
}

func TestStuckPartitionIsTriedAgainWithGrowingPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := vfs.NewFaults(vfs.NewMemory())
		start := time.Now()
		var tries []int64
		cfg := Config{RetryMin: 10 * time.Millisecond, RetryMax: 40 * time.Millisecond}
		cfg.Events.Stuck = func(Key, error) { tries = append(tries, time.Since(start).Milliseconds()) }
		cl := openCluster(t, faults, 2, cfg)
		cl.tell()
		stop := cl.running()
		remove := faults.Fail(vfs.Rule{Op: vfs.OpWrite, Name: "seg-0", Err: syscall.ENOSPC})
		cl.parts[0].append("stuck", 1)
		synctest.Wait()
		cl.parts[1].append("goes on", 1)
		<-cl.parts[1].told
		time.Sleep(115 * time.Millisecond)
		remove()
		<-cl.parts[0].told
		if took := time.Since(start).Milliseconds(); fmt.Sprint(tries) != "[0 10 30 70 110]" || took != 150 {
			t.Fatal(tries, took)
		}
		check(t, stop())
	})
}

func TestShutdownGivesUpOnAStuckPartitionWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := vfs.NewMemory()
		faults := vfs.NewFaults(memory)
		cl := openCluster(t, faults, 1, Config{})
		cl.tell()
		result := make(chan error, 1)
		go func() { result <- cl.c.Run(context.Background()) }()
		synctest.Wait()
		faults.Fail(vfs.Rule{Op: vfs.OpWrite, Name: "seg-0", Err: syscall.ENOSPC})
		cl.parts[0].append("stuck", 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := cl.c.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		if err := <-result; !errors.Is(err, ErrClosed) || !errors.Is(cl.parts[0].failures[0], ErrClosed) {
			t.Fatal(err, cl.parts[0].failures)
		}
		expectFrames(t, memory.CrashClone(1), "0@0")
	})
}

func TestSparesAreMadeInTheBackgroundAndNotTooOftenOnAFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := vfs.NewFaults(vfs.NewMemory())
		cl := openCluster(t, faults, 1, Config{FileBytes: 1000, CheckpointBytes: 1 << 20, RetryMax: time.Second})
		cl.tell()
		stop := cl.running()
		remove := faults.Fail(vfs.Rule{Op: vfs.OpCreate, Err: syscall.ENOSPC})
		creates := counted(faults, vfs.OpCreate)
		write := func() {
			cl.parts[0].append(strings.Repeat("x", 300), 1)
			<-cl.parts[0].told
			synctest.Wait()
		}
		for range 20 {
			write()
		}
		if n := creates("wal/" + temporary); n != 1 || cl.c.wal.header.number != 1 {
			t.Fatal(n, cl.c.wal.header.number)
		}
		remove()
		time.Sleep(2 * time.Second)
		write()
		write()
		if n := creates("wal/" + temporary); n < 2 || cl.c.wal.header.number < 2 {
			t.Fatal(n, cl.c.wal.header.number)
		}
		check(t, stop())
	})
}

func TestNoFileIsFilledWhenTheDiskIsNearlyFull(t *testing.T) {
	faults := vfs.NewFaults(vfs.NewMemory())
	cl := openCluster(t, faults, 1, Config{FileBytes: 1000})
	faults.FakeSpace(&vfs.Space{Total: 10000, Free: 3000})
	check(t, cl.c.wal.prepare(t.Context()))
	if f := cl.c.wal.spares[0]; f.size != 0 {
		t.Fatalf("%+v", f)
	}
}
