package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/skeinstream/skein/broker/internal/catalog"
	"github.com/skeinstream/skein/broker/internal/catalog/catalogtest"
	"github.com/skeinstream/skein/internal/vfs"
)

// picture writes down everything that a snapshot says.
func picture(s *catalog.Snapshot) string {
	var b strings.Builder
	for _, t := range s.Topics() {
		fmt.Fprintf(&b, "%s %s %d %v\n", t.Name, t.ID, t.Partitions, t.Configs)
	}
	for _, t := range s.Deleted() {
		fmt.Fprintf(&b, "deleted %s %s\n", t.Name, t.ID)
	}
	for _, name := range s.ConfiguredBrokers() {
		fmt.Fprintf(&b, "broker %q %v\n", name, s.BrokerConfigs(name))
	}
	return b.String()
}

// workload makes changes of every kind, and enough of them that the log is compacted several times. done is told after
// each that succeeded.
func workload(ctx context.Context, fs vfs.FS, done func(*catalog.Catalog)) error {
	c, err := catalog.Open(fs, "data/catalog", catalog.Options{Random: seeded(), LogMax: 700})
	if err != nil {
		return err
	}
	defer c.Close()
	done(c)
	for i := range 8 {
		t, err := catalogtest.CreateTopic(ctx, c, catalog.Topic{Name: fmt.Sprintf("t%d", i), Partitions: 1, Configs: map[string]string{"retention.ms": "1"}})
		if err != nil {
			return err
		}
		done(c)
		for _, change := range []func() error{
			func() error { return catalogtest.AddPartitions(ctx, c, t.ID, 2) },
			func() error { return catalogtest.SetTopicConfigs(ctx, c, t.ID, map[string]string{"segment.ms": "2"}) },
			func() error { return catalogtest.SetBrokerConfigs(ctx, c, "", map[string]string{"n": fmt.Sprint(i)}) },
			func() error {
				if i%2 == 0 {
					return catalogtest.DeleteTopic(ctx, c, t.ID)
				}
				return nil
			},
			func() error { _, err := c.NextProducerIDs(ctx, 1000); return err },
		} {
			if err := change(); err != nil {
				return err
			}
			done(c)
		}
	}
	return nil
}

// disk is an empty memory with a durable directory for the data, which the broker makes before it opens the catalog.
func disk(t *testing.T) *vfs.Memory {
	t.Helper()
	m := vfs.NewMemory()
	ok(t, m.MkdirAll("data"))
	ok(t, m.SyncDir("."))
	return m
}

// history numbers the pictures that the workload goes through when nothing fails.
func history(t *testing.T) (pictures map[string]int, mutations int) {
	t.Helper()
	pictures = map[string]int{}
	faults := vfs.NewFaults(disk(t))
	ok(t, workload(t.Context(), faults, func(c *catalog.Catalog) {
		if p := picture(c.Snapshot()); pictures[p] == 0 {
			pictures[p] = len(pictures) + 1
		}
	}))
	return pictures, faults.Mutations()
}

// comesBack opens what is left and wants what was acknowledged, and beyond it at most the change that was being made.
func comesBack(t *testing.T, left *vfs.Memory, pictures map[string]int, acked, at string) {
	t.Helper()
	c, err := catalog.Open(left, "data/catalog", catalog.Options{Random: seeded()})
	if err != nil {
		t.Fatalf("%s: %v", at, err)
	}
	got := picture(c.Snapshot())
	if n, known := pictures[got]; !known || n < pictures[acked] || n > pictures[acked]+1 {
		t.Fatalf("%s: after\n%scame back\n%s", at, acked, got)
	}
	ok(t, c.Close())
}

// Power is cut before every single write, sync, rename and truncation, in several ways each.
func TestACrashAtAnyWriteLosesNothingThatWasAcknowledged(t *testing.T) {
	pictures, mutations := history(t)
	memory := disk(t)
	faults := vfs.NewFaults(memory)
	acked, crashes := "", 0
	faults.BeforeMutation(func(n int, op vfs.Op, name string) {
		for seed := range uint64(4) {
			comesBack(t, memory.CrashClone(seed), pictures, acked, fmt.Sprintf("call %d, op %d on %s, seed %d", n, op, name, seed))
			comesBack(t, memory.CrashCloneTorn(seed), pictures, acked, fmt.Sprintf("call %d, op %d on %s, torn %d", n, op, name, seed))
			crashes++
		}
	})
	ok(t, workload(t.Context(), faults, func(c *catalog.Catalog) { acked = picture(c.Snapshot()) }))
	if crashes != 4*mutations || mutations < 100 {
		t.Errorf("%d crashes in %d calls", crashes, mutations)
	}
}

// Every single write, sync, rename and truncation fails once, with a full disk and with an error of the device, and
// power is cut when the workload has ended on that.
func TestAFailureAtAnyWriteLosesNothingThatWasAcknowledged(t *testing.T) {
	pictures, mutations := history(t)
	for skip := range mutations {
		for _, cause := range []error{syscall.ENOSPC, syscall.EIO} {
			memory := disk(t)
			faults := vfs.NewFaults(memory)
			faults.Fail(vfs.Rule{Op: vfs.OpMutate, Skip: skip, Times: 1, Err: cause, Short: skip % 7})
			acked := ""
			_ = workload(t.Context(), faults, func(c *catalog.Catalog) { acked = picture(c.Snapshot()) })
			comesBack(t, memory.CrashClone(uint64(skip)), pictures, acked, fmt.Sprintf("call %d, %v", skip+1, cause))
		}
	}
}

func TestAfterAFullDiskTheCatalogGoesOn(t *testing.T) {
	memory := vfs.NewMemory()
	faults := vfs.NewFaults(memory)
	c := open(t, faults)
	remove := faults.Fail(vfs.Rule{Op: vfs.OpWrite, Err: syscall.ENOSPC, Short: 5})
	if err := catalogtest.SetBrokerConfigs(t.Context(), c, "", map[string]string{"n": "1"}); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("%v", err)
	}
	if got := c.Snapshot().BrokerConfigs(""); len(got) != 0 {
		t.Errorf("a change that was refused shows: %v", got)
	}
	remove()
	ok(t, catalogtest.SetBrokerConfigs(t.Context(), c, "", map[string]string{"n": "2"}))
	if got := open(t, memory.CrashClone(1)).Snapshot().BrokerConfigs("")["n"]; got != "2" {
		t.Errorf("after a restart: %q", got)
	}
}

func TestAfterAFailedSyncTheCatalogIsReadOnly(t *testing.T) {
	faults := vfs.NewFaults(vfs.NewMemory())
	var told error
	c, err := catalog.Open(faults, "c", catalog.Options{Random: seeded(), Broken: func(err error) { told = err }})
	ok(t, err)
	remove := faults.Fail(vfs.Rule{Op: vfs.OpSync, Times: 1, Err: syscall.EIO})
	if err := catalogtest.SetBrokerConfigs(t.Context(), c, "", map[string]string{"n": "1"}); !errors.Is(err, syscall.EIO) {
		t.Fatalf("%v", err)
	}
	remove()
	if err := catalogtest.SetBrokerConfigs(t.Context(), c, "", map[string]string{"n": "2"}); !errors.Is(err, catalog.ErrBroken) || !errors.Is(told, syscall.EIO) {
		t.Errorf("%v, told %v", err, told)
	}
	ok(t, c.Close())
}
