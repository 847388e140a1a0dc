package broker

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/skeinstream/skein/internal/vfs"
)

// wrecks takes the disk of a broker as a kill or a power cut would leave it, before some of its changes, with what clients
// know at that moment: M, a model of what was acknowledged and of what is being asked for.
type wrecks[M interface{ Clone() M }] struct {
	seed uint64

	mu      sync.Mutex // guards what follows
	model   M
	all     []*wreck[M]
	changes int
}

// wreck is a disk as the end of a broker has left it.
type wreck[M any] struct {
	disk  *vfs.Memory
	model M
	where string
}

// know changes what clients know.
func (w *wrecks[M]) know(change func(m M)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(w.model)
}

// follow looks at the disk before each of its changes; cuts says how many power cuts there are before change n, beside a
// kill. With none there is no kill either.
func (w *wrecks[M]) follow(faults *vfs.Faults, disk *vfs.Memory, cuts func(n int, m M) int) {
	faults.BeforeMutation(func(n int, op vfs.Op, name string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.changes++
		power := cuts(n, w.model)
		if power == 0 {
			return
		}
		model, where := w.model.Clone(), fmt.Sprintf("before change %d (%d %s)", n, op, name)
		w.all = append(w.all, &wreck[M]{disk.KillClone(), model, fmt.Sprintf("seed %d, killed %s", w.seed, where)})
		for i := range uint64(power) {
			w.all = append(w.all, &wreck[M]{disk.CrashClone(w.seed<<32 + uint64(n)*8 + i), model, fmt.Sprintf("seed %d, power cut %d %s", w.seed, i, where)})
		}
	})
}

// surviveWrecks lets a broker work for each of some seeds, and looks at each wreck that it leaves. run returns also what it
// did, for people.
func surviveWrecks[M interface{ Clone() M }](t *testing.T, seeds uint64, run func(t *testing.T, seed uint64) (*wrecks[M], []string), check func(t *testing.T, w *wreck[M])) {
	t.Helper()
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			var w *wrecks[M]
			var did []string
			synctest.Test(t, func(t *testing.T) { w, did = run(t, seed) })
			for i, one := range w.all {
				if i%stride != 0 {
					continue
				}
				synctest.Test(t, func(t *testing.T) { check(t, one) })
				if t.Failed() {
					t.Fatalf("did %v", did)
				}
			}
			t.Logf("%d crashes at %d changes of the disk", len(w.all), w.changes)
		})
	}
}
