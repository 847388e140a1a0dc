package vfs_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/skeinstream/skein/internal/vfs"
)

// TestAnOverlayIsLikeItsBaseChanged: whatever is done to it is seen as on a copy of the base, and the base stays.
func TestAnOverlayIsLikeItsBaseChanged(t *testing.T) {
	for seed := range uint64(50) {
		base := vfs.NewMemory()
		dice := rand.New(rand.NewPCG(seed, 1))
		for range 60 {
			changeFiles(base, dice)
		}
		before, twin := image(t, base), base.KillClone()
		over := vfs.Overlay(base)
		same := rand.New(rand.NewPCG(seed, 2))
		for i := range 80 {
			state := rand.NewPCG(seed, uint64(i)+3)
			errOver := changeFiles(over, rand.New(state))
			errTwin := changeFiles(twin, rand.New(rand.NewPCG(seed, uint64(i)+3)))
			if (errOver == nil) != (errTwin == nil) {
				t.Fatalf("seed %d, change %d: %v, on the twin %v", seed, i, errOver, errTwin)
			}
			if same.IntN(8) == 0 {
				if got, want := image(t, over), image(t, twin); !slices.Equal(got, want) {
					t.Fatalf("seed %d, change %d: %q, want %q", seed, i, got, want)
				}
			}
		}
		if !slices.Equal(image(t, base), before) {
			t.Fatalf("seed %d: the base has changed", seed)
		}
	}
}

// changeFiles does one thing to a few files and directories.
func changeFiles(fs vfs.FS, dice *rand.Rand) error {
	name := func() string {
		return []string{"a", "b", "d", "d/a", "d/b", "d/e", "d/e/a"}[dice.IntN(7)]
	}
	switch dice.IntN(7) {
	case 0:
		return fs.Rename(name(), name())
	case 1:
		return fs.Remove(name())
	case 2:
		return fs.MkdirAll([]string{"d", "d/e", "a"}[dice.IntN(3)])
	case 3:
		if dice.IntN(4) > 0 {
			return nil
		}
		return fs.RemoveAll(name())
	case 4:
		f, err := fs.Create(name())
		if err != nil {
			return err
		}
		return f.Close()
	}
	f, err := fs.OpenFile(name())
	if err != nil {
		return err
	}
	if dice.IntN(4) == 0 {
		err = f.Truncate(dice.Int64N(12000))
	} else {
		_, err = f.WriteAt(bytes.Repeat([]byte{byte(1 + dice.IntN(255))}, dice.IntN(6000)), dice.Int64N(9000))
	}
	return errors.Join(err, f.Close())
}

// image is every name with its content.
func image(t *testing.T, fs vfs.FS) (all []string) {
	var walk func(dir string)
	walk = func(dir string) {
		for _, name := range must1[[]string](t)(fs.List(dir)) {
			path := dir + "/" + name
			info := must1[vfs.Info](t)(fs.Stat(path))
			if info.Dir {
				all = append(all, path)
				walk(path)
				continue
			}
			content := must1[[]byte](t)(vfs.ReadFile(fs, path))
			all = append(all, fmt.Sprintf("%s %d %x", path, info.Size, content))
		}
	}
	walk(".")
	return all
}

func TestAnOverlayKeepsHandlesTogether(t *testing.T) {
	base := withDir(t, vfs.NewMemory())
	must(t, vfs.WriteFile(base, "data/f", []byte("before")))
	over := vfs.Overlay(base)
	reader := must1[vfs.File](t)(over.Open("data/f"))
	writer := must1[vfs.File](t)(over.OpenFile("data/f"))
	must1[int](t)(writer.WriteAt([]byte("after!"), 0))
	b := make([]byte, 6)
	must1[int](t)(reader.ReadAt(b, 0))
	if string(b) != "after!" {
		t.Errorf("a handle opened before the write reads %q", b)
	}
	must(t, over.Remove("data/f"))
	if _, err := over.Open("data/f"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("opening what was removed: %v", err)
	}
	if got := string(must1[[]byte](t)(vfs.ReadFile(base, "data/f"))); got != "before" {
		t.Errorf("the base reads %q", got)
	}
}
