package vfs_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/skeinstream/skein/internal/vfs"
	"pgregory.net/rapid"
)

const (
	page  = 4096
	seeds = 300
)

// outcomes are the states of a file over many crashes, "-" when it is missing.
func outcomes(m *vfs.Memory, name string, crash func(*vfs.Memory, uint64) *vfs.Memory) map[string]int {
	seen := map[string]int{}
	for seed := range uint64(seeds) {
		content, err := vfs.ReadFile(crash(m, seed), name)
		if err != nil {
			seen["-"]++
			continue
		}
		seen[string(content)]++
	}
	return seen
}

func expectOutcomes(t *testing.T, seen map[string]int, want ...string) {
	t.Helper()
	for _, w := range want {
		if seen[w] == 0 {
			t.Errorf("never seen: %.40q in %d outcomes", w, len(seen))
		}
		delete(seen, w)
	}
	for state, n := range seen {
		t.Errorf("impossible, seen %d times: %.40q", n, state)
	}
}

// durable makes a file whose name and content are durable.
func durable(t *testing.T, m vfs.FS, name, content string) vfs.File {
	t.Helper()
	f := create(t, m, name, content)
	must(t, f.Sync())
	must(t, m.SyncDir("."))
	return f
}

func TestCrashKeepsWhatIsSynced(t *testing.T) {
	m := vfs.NewMemory()
	durable(t, m, "a", "kept")
	expectOutcomes(t, outcomes(m, "a", (*vfs.Memory).CrashClone), "kept")
}

func TestCrashMayLoseTheNameOfASyncedFile(t *testing.T) {
	m := vfs.NewMemory()
	must(t, create(t, m, "a", "x").Sync())
	expectOutcomes(t, outcomes(m, "a", (*vfs.Memory).CrashClone), "x", "-")
}

func TestCrashKeepsUnsyncedPagesInAnyCombination(t *testing.T) {
	m := vfs.NewMemory()
	old, a, b := strings.Repeat("o", page), strings.Repeat("a", page), strings.Repeat("b", page)
	f := durable(t, m, "f", old+old)
	write(t, f, b, page)
	write(t, f, a, 0)
	expectOutcomes(t, outcomes(m, "f", (*vfs.Memory).CrashClone), old+old, a+old, old+b, a+b)
}

func TestCrashMayKeepAStateBetweenTwoWritesOfOnePage(t *testing.T) {
	m := vfs.NewMemory()
	f := durable(t, m, "f", "0")
	for _, s := range []string{"1", "2", "3"} {
		write(t, f, s, 0)
	}
	expectOutcomes(t, outcomes(m, "f", (*vfs.Memory).CrashClone), "0", "1", "2", "3")
}

func TestCrashMayKeepASizeWithoutItsPages(t *testing.T) {
	m := vfs.NewMemory()
	f := durable(t, m, "f", "")
	write(t, f, "xy", 0)
	expectOutcomes(t, outcomes(m, "f", (*vfs.Memory).CrashClone), "", "xy", "\x00\x00")
}

func TestTornCrashMixesSectorsOfAPage(t *testing.T) {
	m := vfs.NewMemory()
	f := durable(t, m, "f", strings.Repeat("o", page))
	write(t, f, strings.Repeat("n", page), 0)
	mixed := 0
	for state := range outcomes(m, "f", (*vfs.Memory).CrashCloneTorn) {
		for at := 0; at < page; at += 512 {
			if n := strings.Count(state[at:at+512], "n"); n != 0 && n != 512 {
				t.Fatal("a sector was torn")
			}
		}
		if n := strings.Count(state, "n"); n != 0 && n != page {
			mixed++
		}
	}
	if mixed == 0 {
		t.Fatal("no page was torn")
	}
}

func TestCrashNeverShowsOldBytesAgainInASizeGrownAfterATruncation(t *testing.T) {
	m := vfs.NewMemory()
	f := durable(t, m, "f", "secret")
	must(t, f.Truncate(0))
	write(t, f, "new...", 0)
	expectOutcomes(t, outcomes(m, "f", (*vfs.Memory).CrashClone), "secret", "", "new...", "\x00\x00\x00\x00\x00\x00")
}

func TestRenameSurvivesWholeOrNotAtAll(t *testing.T) {
	m := vfs.NewMemory()
	durable(t, m, "old", "O")
	durable(t, m, "new", "N")
	must(t, m.Rename("new", "old"))
	seen := map[string]bool{}
	for seed := range uint64(seeds) {
		c := m.CrashClone(seed)
		names := must1[[]string](t)(c.List("."))
		seen[fmt.Sprint(names, read(t, c, "old"))] = true
	}
	if len(seen) != 2 || !seen["[new old]O"] || !seen["[old]N"] {
		t.Fatal(seen)
	}
}

func TestNoFileHasTwoNamesAfterACrash(t *testing.T) {
	m := vfs.NewMemory()
	durable(t, m, "a", "x")
	must(t, m.Rename("a", "b"))
	must(t, m.Rename("b", "c"))
	for seed := range uint64(seeds) {
		if names := must1[[]string](t)(m.CrashClone(seed).List(".")); len(names) != 1 {
			t.Fatal(seed, names)
		}
	}
}

func TestRemovalIsDurableAfterSyncDir(t *testing.T) {
	m := vfs.NewMemory()
	durable(t, m, "a", "x")
	must(t, m.Remove("a"))
	expectOutcomes(t, outcomes(m, "a", (*vfs.Memory).CrashClone), "x", "-")
	must(t, m.SyncDir("."))
	expectOutcomes(t, outcomes(m, "a", (*vfs.Memory).CrashClone), "-")
}

func TestSyncDirOfOneDirectoryLeavesOthersAlone(t *testing.T) {
	m := vfs.NewMemory()
	must(t, m.MkdirAll("a"))
	must(t, m.MkdirAll("b"))
	must(t, m.SyncDir("."))
	must(t, create(t, m, "a/x", "").Close())
	must(t, create(t, m, "b/x", "").Close())
	must(t, m.SyncDir("a"))
	expectOutcomes(t, outcomes(m, "a/x", (*vfs.Memory).CrashClone), "")
	expectOutcomes(t, outcomes(m, "b/x", (*vfs.Memory).CrashClone), "", "-")
}

func TestOriginalAndCloneGoTheirOwnWays(t *testing.T) {
	for name, clone := range map[string]func(*vfs.Memory) *vfs.Memory{
		"kill":  (*vfs.Memory).KillClone,
		"crash": func(m *vfs.Memory) *vfs.Memory { return m.CrashClone(1) },
	} {
		t.Run(name, func(t *testing.T) {
			m := vfs.NewMemory()
			f := durable(t, m, "a", "base")
			c := clone(m)
			write(t, f, "orig", 0)
			g, err := c.OpenFile("a")
			must(t, err)
			expect(t, read(t, c, "a"), "base")
			write(t, g, "copy", 0)
			expect(t, read(t, m, "a"), "orig")
			must(t, m.Remove("a"))
			expect(t, read(t, c, "a"), "copy")
		})
	}
}

func TestKillKeepsUnsyncedWritesButTheyAreStillNotDurable(t *testing.T) {
	m := vfs.NewMemory()
	f := durable(t, m, "a", "0")
	write(t, f, "1", 0)
	must(t, create(t, m, "b", "").Close())
	c := m.KillClone()
	expect(t, read(t, c, "a"), "1")
	expect(t, read(t, c, "b"), "")
	expectOutcomes(t, outcomes(c, "a", (*vfs.Memory).CrashClone), "0", "1")
	expectOutcomes(t, outcomes(c, "b", (*vfs.Memory).CrashClone), "", "-")
	must(t, c.SyncDir("."))
	expectOutcomes(t, outcomes(c, "b", (*vfs.Memory).CrashClone), "")
}

func TestClonesHoldNoLocks(t *testing.T) {
	m := vfs.NewMemory()
	must1[io.Closer](t)(m.Lock("lock"))
	_, err := m.Lock("lock")
	expectErr(t, err, vfs.ErrLocked)
	must1[io.Closer](t)(m.KillClone().Lock("lock"))
	must1[io.Closer](t)(m.CrashClone(1).Lock("lock"))
}

func TestSameSeedSameCrash(t *testing.T) {
	m := vfs.NewMemory()
	for i := range 5 {
		f := durable(t, m, fmt.Sprint("f", i), "")
		write(t, f, strings.Repeat("x", 5*page), 0)
	}
	for seed := range uint64(20) {
		for i := range 5 {
			name := fmt.Sprint("f", i)
			first, second := m.CrashClone(seed), m.CrashClone(seed)
			if read(t, first, name) != read(t, second, name) {
				t.Fatal("seed", seed, "gave two images")
			}
		}
	}
}

func TestLongUnsyncedHistoriesStayBoundedAndTrue(t *testing.T) {
	m := vfs.NewMemory()
	f := durable(t, m, "f", "")
	content := bytes.Repeat([]byte("0123456789"), 1000)
	for i := range content {
		write(t, f, string(content[i:i+1]), int64(i))
	}
	for state := range outcomes(m, "f", (*vfs.Memory).CrashClone) {
		for i := range len(state) {
			if state[i] != 0 && state[i] != content[i] {
				t.Fatalf("byte %d is %q", i, state[i])
			}
		}
	}
}

// TestMemoryMatchesAPlainModel runs random calls on one file against a slice of bytes, and checks at every sync that a
// crash right after it gives exactly that slice.
func TestMemoryMatchesAPlainModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := vfs.NewMemory()
		f, _ := m.Create("f")
		_ = m.SyncDir(".")
		var model []byte
		t.Repeat(map[string]func(*rapid.T){
			"write": func(t *rapid.T) {
				at := rapid.IntRange(0, 3*page).Draw(t, "at")
				b := bytes.Repeat([]byte{rapid.Byte().Draw(t, "byte")}, rapid.IntRange(0, 2*page).Draw(t, "size"))
				if grow := at + len(b) - len(model); grow > 0 && len(b) > 0 {
					model = append(model, make([]byte, grow)...)
				}
				if len(b) > 0 {
					copy(model[at:], b)
				}
				_, _ = f.WriteAt(b, int64(at))
			},
			"truncate": func(t *rapid.T) {
				size := rapid.IntRange(0, 5*page).Draw(t, "size")
				if size > len(model) {
					model = append(model, make([]byte, size-len(model))...)
				}
				model = model[:size:size]
				_ = f.Truncate(int64(size))
			},
			"sync": func(t *rapid.T) {
				_ = f.Sync()
				crashed, err := vfs.ReadFile(m.CrashClone(rapid.Uint64().Draw(t, "seed")), "f")
				if err != nil || !bytes.Equal(crashed, model) {
					t.Fatal("a synced file changed in a crash", err)
				}
			},
			"": func(t *rapid.T) {
				if content, err := vfs.ReadFile(m, "f"); err != nil || !bytes.Equal(content, model) {
					t.Fatal("memory and model differ", err)
				}
			},
		})
	})
}

func TestMemoryMayBeUsedFromManyGoroutines(t *testing.T) {
	m := vfs.NewMemory()
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			name := fmt.Sprint("f", i%4)
			for j := range 50 {
				f, err := m.OpenFile(name)
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = f.WriteAt([]byte("x"), int64(i*100+j))
				_ = f.Sync()
				_ = m.CrashClone(uint64(j))
				_, _ = m.List(".")
				if err := m.Remove(name); err != nil && !os.IsNotExist(err) {
					t.Error(err)
				}
				_ = f.Close()
			}
		})
	}
	group.Wait()
}
