package commit

import (
	"testing"

	"github.com/skeinstream/skein/internal/vfs"
)

func TestSmallAppendsShareOneSync(t *testing.T) {
	memory := vfs.NewMemory()
	faults := vfs.NewFaults(memory)
	cl := openCluster(t, faults, 3, Config{})
	for i := range 9 {
		cl.parts[i%3].append("content", 1)
	}
	syncs := 0
	faults.BeforeMutation(func(_ int, op vfs.Op, _ string) {
		if op == vfs.OpSync {
			syncs++
		}
	})
	check(t, cl.drain())
	if syncs != 1 {
		t.Fatal(syncs, "syncs for one round")
	}
	for _, p := range cl.parts {
		if p.committed != 3 || p.open != 0 {
			t.Fatal(p.name, p.committed, p.open)
		}
	}
	again := openCluster(t, memory.CrashClone(1), 3, Config{})
	again.expectAcked(cl.acked(), "after a crash")
}
