package broker

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/skeinstream/skein/internal/vfs"
)

// havoc does to files what disks, file systems and people do: pages of zeros and of other files, ends that are cut or grown,
// files that are gone, twice there, or in each other's place.
func havoc(t *testing.T, disk *vfs.Memory, dice *rand.Rand) (what []string) {
	t.Helper()
	for range 1 + dice.IntN(4) {
		files := filesBelow(t, disk, dataDir)
		name, other := files[dice.IntN(len(files))], files[dice.IntN(len(files))]
		mine, err := vfs.ReadFile(disk, name)
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := vfs.ReadFile(disk, other)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(filepath.Dir(other)) != catalogDir { // whole batches of another partition could not be told from its own
			for i := range theirs {
				theirs[i] = byte(dice.Uint32())
			}
		}
		head := 0 // what says the version of a file stays
		if filepath.Base(filepath.Dir(name)) == catalogDir || filepath.Base(filepath.Dir(name)) == "wal" {
			head = min(16, len(mine))
		}
		at := head + dice.IntN(len(mine)-head+1)
		till := min(len(mine), at+1<<dice.IntN(13))
		kind := dice.IntN(7)
		switch kind {
		case 0:
			clear(mine[at:till])
		case 1:
			copy(mine[at:till], theirs[dice.IntN(len(theirs)):])
		case 2:
			mine = mine[:at]
		case 3:
			mine = append(mine, make([]byte, dice.IntN(9000))...)
		case 4:
			mine = append(mine, theirs...)
		case 5:
			mine = append(mine[:at:at], mine[till:]...)
		case 6:
			what = append(what, "removed "+name)
			if err := disk.Remove(name); err != nil {
				t.Fatal(err)
			}
			continue
		}
		what = append(what, fmt.Sprintf("%d %s %d-%d of %s", kind, name, at, till, other))
		f, err := disk.Create(name)
		if err == nil {
			_, err = f.WriteAt(mine, 0)
			err = errors.Join(err, f.Sync(), f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return what
}

// Whatever has happened to the files, a repair makes a directory of them that starts, and nothing false is served.
func TestABrokerStartsAgainAfterHavoc(t *testing.T) {
	repairsWhatever(t, 40, 13, func(t *testing.T, r *ruin, disk *vfs.Memory, dice *rand.Rand, seed uint64) []string {
		if seed%3 == 0 {
			r.with(t, disk, func(*Broker, *wire) { synctest.Wait() })
		}
		return havoc(t, disk, dice)
	})
}
