package commit

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/skeinstream/skein/internal/vfs"
)

// standing is a frame, and where it stands.
type standing struct {
	file     string
	from, to int64 // without the zeros behind it
	Frame
}

// firstOfGroup is the number of the first frame of the group.
func (s standing) firstOfGroup() uint64 { return s.Seq - uint64(s.Index) }

// relics is a log of three files with notes, groups and rounds of several frames, and what was acknowledged of it.
func relics(t *testing.T) (*vfs.Memory, []standing, []map[int64]string) {
	t.Helper()
	fs := vfs.NewMemory()
	cl := openCluster(t, fs, 3, Config{FileBytes: 2500, CheckpointBytes: 1 << 20, DirectBytes: 600})
	dice := rand.New(rand.NewPCG(1, 2))
	for i := 0; cl.c.wal.header.number < 3 || i%7 > 0; i++ {
		if cl.c.wal.ready.Load() == 0 {
			check(t, cl.c.wal.prepare(t.Context()))
		}
		for range 1 + dice.IntN(3) {
			cl.parts[dice.IntN(3)].append(strings.Repeat(string(rune('a'+i%26)), 10+dice.IntN(90)), 1+dice.Int64N(3))
		}
		switch i % 5 {
		case 1:
			appendGroup(cl.c, fmt.Sprint("group ", i), cl.parts...)
		case 3:
			cl.parts[2].append(strings.Repeat("z", 700), 1) // by road B, and noted
		}
		check(t, cl.drain())
	}
	return fs.KillClone(), inventory(t, fs), cl.acked()
}

// inventory finds the frames of a log that is whole.
func inventory(t *testing.T, fs vfs.FS) (all []standing) {
	t.Helper()
	at, file := int64(0), uint64(0)
	check(t, Read(fs, "wal", func(f Frame) error {
		if n := f.Seq >> 32; n != file {
			file, at = n, fileHeaderSize
		}
		to := at + frameHeaderSize + int64(len(f.Bytes))
		f.Bytes = bytes.Clone(f.Bytes)
		all = append(all, standing{name(file), at, to, f})
		at += frameSize(len(f.Bytes))
		return nil
	}))
	return all
}

func text(f Frame) string {
	return fmt.Sprintf("%d: %d %d@%d-%d %d/%d %.10q", f.Seq, f.Kind, f.Key.Partition, f.Base, f.Last, f.Index, f.Count, f.Bytes)
}

// salvaged is what Salvage finds.
func salvaged(t *testing.T, fs vfs.FS) (frames []string, damage []Damage) {
	t.Helper()
	damage, err := Salvage(fs, "wal", func(f Frame) error {
		if f.Key != (Key{}) { // the note that ends a file
			frames = append(frames, text(f))
		}
		return nil
	})
	check(t, err)
	return frames, damage
}

func frames(t *testing.T, fs vfs.FS) (all []string) {
	t.Helper()
	check(t, Read(fs, "wal", func(f Frame) error {
		if f.Key != (Key{}) {
			all = append(all, text(f))
		}
		return nil
	}))
	return all
}

// without is the text of all frames but those of the group that was hit; in the place of those come notes where the header
// of the frame is whole.
func without(all []standing, hit standing, at int64) (want []string, lost []Lost) {
	for _, s := range all {
		switch {
		case s.firstOfGroup() != hit.firstOfGroup():
			want = append(want, text(s.Frame))
		case s.Seq != hit.Seq || at >= s.from+frameHeaderSize:
			f := Frame{Kind: Note, Key: s.Key, Base: s.Last + 1, Last: s.Last + 1, Seq: s.Seq, Count: 1}
			want = append(want, text(f))
			lost = append(lost, Lost{s.Key, s.Base, s.Last})
		}
	}
	return want, lost
}

// TestASalvageLosesWhatIsDamagedAndNothingElse, and Repair makes of it a log that opens, wherever a bit flips.
func TestASalvageLosesWhatIsDamagedAndNothingElse(t *testing.T) {
	fs, all, acked := relics(t)
	damaged := 0
	for _, victim := range all {
		for at := victim.from; at < victim.to; at += 3 * stride {
			image := fs.KillClone()
			corrupt(t, image, victim.file, at)
			if err := Read(image, "wal", func(Frame) error { return nil }); err == nil {
				expectNothingToRepair(t, image) // the torn end of the last round, to everybody
				continue
			}
			damaged++
			got, damage := salvaged(t, image)
			want, lost := without(all, victim, at)
			if !slices.Equal(got, want) {
				t.Fatalf("byte %d of %s: found\n%s\nwant\n%s", at, victim.file, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			if len(damage) != 1 || damage[0].File != victim.file || !slices.Equal(damage[0].Lost, lost) || damage[0].Frames == 0 {
				t.Fatalf("byte %d of %s: damage %+v, want %v lost", at, victim.file, damage, lost)
			}
			expectRepaired(t, image, victim.file, got, acked)
		}
	}
	if damaged < 500/stride {
		t.Errorf("only %d of the flips are damage", damaged)
	}
}

func expectNothingToRepair(t *testing.T, image *vfs.Memory) {
	t.Helper()
	want := frames(t, image)
	if got, damage := salvaged(t, image); !slices.Equal(got, want) || len(damage) > 0 {
		t.Fatalf("found %v and %+v, want %v", got, damage, want)
	}
	damage, err := Repair(image, "wal")
	if err != nil || len(damage) > 0 {
		t.Fatal(damage, err)
	}
}

// expectRepaired repairs a log and opens it.
func expectRepaired(t *testing.T, image *vfs.Memory, file string, want []string, acked []map[int64]string) {
	t.Helper()
	before, _ := vfs.ReadFile(image, file)
	if _, err := Repair(image, "wal"); err != nil {
		t.Fatal(err)
	}
	if got := frames(t, image); !slices.Equal(got, want) {
		t.Fatalf("%s: the repaired log has\n%s\nwant\n%s", file, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if before != nil {
		if aside, err := vfs.ReadFile(image, file+".damaged"); err != nil || !bytes.Equal(aside, before) {
			t.Fatalf("the damaged file was not saved: %v", err)
		}
	}
	expectNothingToRepair(t, image)
	cl := openCluster(t, image, 3, Config{})
	cl.expectAcked(acked, "after the repair")
	rounds(t, cl, 2)
}

func TestADamagedHeaderOfAFileIsMadeAnew(t *testing.T) {
	fs, all, acked := relics(t)
	want := texts(all)
	for number := range uint64(3) {
		file := name(number + 1)
		for at := range int64(fileHeaderSize) {
			image := fs.KillClone()
			corrupt(t, image, file, at)
			expectDamage(t, image, file, 0)
			got, damage := salvaged(t, image)
			if !slices.Equal(got, want) || len(damage) != 1 || damage[0].File != file {
				t.Fatalf("byte %d of %s: found\n%s\nand %+v, want\n%s", at, file, strings.Join(got, "\n"), damage, strings.Join(want, "\n"))
			}
			expectRepaired(t, image, file, want, acked)
		}
	}
}

// A header can be made anew from two frames that agree. With one nobody knows what is lost, and the report says that.
func TestADamagedHeaderBeforeASingleFrame(t *testing.T) {
	for writes := 1; writes <= 2; writes++ {
		fs := vfs.NewMemory()
		cl := openCluster(t, fs, 1, Config{})
		for range writes {
			cl.parts[0].append("x", 1)
		}
		check(t, cl.drain())
		file := name(cl.c.wal.header.number)
		image := fs.KillClone()
		check(t, overwrite(image, file, make([]byte, 4)))
		frames, damage := salvaged(t, image)
		if len(damage) != 1 || damage[0].Unknown != (writes < 2) || len(frames) != writes*(writes/2) {
			t.Errorf("%d writes: %q with %+v", writes, frames, damage)
		}
		_, err := Repair(image, "wal")
		check(t, err)
		if _, damage := salvaged(t, image); len(damage) > 0 {
			t.Errorf("%d writes: after the repair %+v", writes, damage)
		}
	}
}

func texts(all []standing) (texts []string) {
	for _, s := range all {
		texts = append(texts, text(s.Frame))
	}
	return texts
}

// of is the frames that stand in a file, from some byte on or before it.
func of(all []standing, file string, keep func(standing) bool) []standing {
	return slices.DeleteFunc(slices.Clone(all), func(s standing) bool { return s.file == file && !keep(s) })
}

func TestWhatIsGoneOfAFileIsLostAndNothingElse(t *testing.T) {
	fs, all, acked := relics(t)
	for what, c := range map[string]struct {
		harm func(*vfs.Memory, string) error
		left func(standing) bool
	}{
		"the file": {
			func(fs *vfs.Memory, file string) error { return fs.Remove(file) },
			func(standing) bool { return false },
		},
		"its first sector": {
			func(fs *vfs.Memory, file string) error { return overwrite(fs, file, make([]byte, 512)) },
			func(s standing) bool { return s.from >= 512 },
		},
		"its end": {
			func(fs *vfs.Memory, file string) error { return cut(fs, file, 1000) },
			func(s standing) bool { return s.to <= 1000 },
		},
		"all but nothing": {
			func(fs *vfs.Memory, file string) error { return cut(fs, file, 10) },
			func(standing) bool { return false },
		},
	} {
		t.Run(what, func(t *testing.T) {
			image := fs.KillClone()
			check(t, c.harm(image, name(2)))
			if err := Read(image, "wal", func(Frame) error { return nil }); err == nil {
				t.Fatal("nobody notices")
			}
			got, damage := salvaged(t, image)
			want := texts(of(all, name(2), func(s standing) bool { return c.left(s) && wholeGroup(all, s, c.left) }))
			kept := slices.DeleteFunc(slices.Clone(got), func(s string) bool { return !slices.Contains(want, s) })
			if !slices.Equal(kept, want) || len(damage) == 0 {
				t.Fatalf("found\n%s\nand %+v, want\n%s", strings.Join(got, "\n"), damage, strings.Join(want, "\n"))
			}
			expectRepaired(t, image, name(2), got, acked)
		})
	}
}

// wholeGroup reports whether everything of the group of s is left.
func wholeGroup(all []standing, s standing, left func(standing) bool) bool {
	return !slices.ContainsFunc(all, func(o standing) bool { return o.firstOfGroup() == s.firstOfGroup() && !left(o) })
}

func overwrite(fs *vfs.Memory, name string, b []byte) error {
	f, err := fs.OpenFile(name)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(b, 0)
	return errors.Join(err, f.Close())
}

func cut(fs *vfs.Memory, name string, size int64) error {
	f, err := fs.OpenFile(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Truncate(size), f.Close())
}

// Frames behind a torn one were promised to nobody, and replaying them would leave a hole.
func TestASalvageLeavesTheTornEndOut(t *testing.T) {
	fs := vfs.NewMemory()
	cl := openCluster(t, fs, 1, Config{})
	rounds(t, cl, 3)
	for i := range 3 {
		cl.parts[0].append(fmt.Sprint("content ", i), 1)
	}
	check(t, cl.drain())
	corrupt(t, fs, name(1), fileHeaderSize+frame9+frameHeaderSize)   // the second round
	corrupt(t, fs, name(1), fileHeaderSize+3*frame9+frameHeaderSize) // the first frame of the last
	var found []int64
	damage, err := Salvage(fs, "wal", func(f Frame) error {
		if f.Kind == Data {
			found = append(found, f.Base)
		}
		return nil
	})
	check(t, err)
	if !slices.Equal(found, []int64{0, 2}) || len(damage) != 1 {
		t.Errorf("found %v and %+v", found, damage)
	}
}

func TestACrashInARepair(t *testing.T) {
	fs, all, _ := relics(t)
	for _, victim := range []standing{all[2], all[len(all)/2]} {
		corrupt(t, fs, victim.file, victim.from+frameHeaderSize)
	}
	want, _ := salvaged(t, fs)
	faults := vfs.NewFaults(fs)
	var crashes []*vfs.Memory
	faults.BeforeMutation(func(n int, _ vfs.Op, _ string) {
		crashes = append(crashes, fs.CrashClone(uint64(n)), fs.KillClone())
	})
	if _, err := Repair(faults, "wal"); err != nil {
		t.Fatal(err)
	}
	for i, crashed := range crashes {
		if _, err := Repair(crashed, "wal"); err != nil {
			t.Fatal(i, err)
		}
		if got := frames(t, crashed); !slices.Equal(got, want) {
			t.Fatalf("crash %d: found\n%s\nwant\n%s", i, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	if len(crashes) < 20 {
		t.Error(len(crashes), "crashes")
	}
}

func TestSeedBefore(t *testing.T) {
	dice := rand.New(rand.NewPCG(3, 4))
	for range 100 {
		b := make([]byte, dice.IntN(100))
		for i := range b {
			b[i] = byte(dice.Uint32())
		}
		seed := dice.Uint32()
		if got := seedBefore(b, crc32.Update(seed, castagnoli, b)); got != seed {
			t.Fatalf("seed %08x, want %08x", got, seed)
		}
	}
}

// Bytes of a record that look like a frame of the file are not taken for one, though the file has lost its salt.
func TestALookAlikeIsNoFrame(t *testing.T) {
	fs := vfs.NewMemory()
	cl := openCluster(t, fs, 1, Config{})
	h := frameHeader{kind: Data, seq: firstSeq(1) + 2, count: 1, key: Key{Partition: 9}, position: -1}
	fake := appendFrame(nil, h, []byte("look-alike"), 12345)
	cl.parts[0].append(strings.Repeat(string(fake), 3), 1)
	check(t, cl.drain())
	rounds(t, cl, 2)
	want := frames(t, fs)
	check(t, overwrite(fs, name(1), make([]byte, 60)))
	corrupt(t, fs, name(1), 10)
	got, _ := salvaged(t, fs)
	if !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
}

// However much is damaged: what a salvage finds stood there, in its order, and the repaired log opens with it.
func TestASalvageOfAnyRuin(t *testing.T) {
	fs, all, _ := relics(t)
	stood := map[string]int{}
	for i, s := range all {
		stood[text(s.Frame)] = i
	}
	for seed := range uint64(300) {
		image := fs.KillClone()
		dice := rand.New(rand.NewPCG(seed, 5))
		for range 1 + dice.IntN(6) {
			ruinOne(t, image, dice)
		}
		found, damage := salvaged(t, image)
		last := -1
		for _, frame := range found {
			at, ok := stood[frame]
			if !ok && strings.Contains(frame, ": 2 ") {
				continue // a note in the place of a lost frame
			}
			if !ok || at <= last {
				t.Fatalf("seed %d: found %s, which %v", seed, frame, map[bool]string{true: "comes twice or too late", false: "never stood there"}[ok])
			}
			last = at
		}
		if _, err := Repair(image, "wal"); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if err := Read(image, "wal", func(Frame) error { return nil }); err != nil {
			t.Fatalf("seed %d, %+v: the repaired log: %v", seed, damage, err)
		}
		if got := frames(t, image); !slices.Equal(got, found) {
			t.Fatalf("seed %d, %+v: the repaired log has\n%s\nwant\n%s", seed, damage, strings.Join(got, "\n"), strings.Join(found, "\n"))
		}
		expectNothingToRepair(t, image)
	}
}

// ruinOne flips a bit, zeroes or scrambles a stretch, cuts a file or removes one.
func ruinOne(t *testing.T, fs *vfs.Memory, dice *rand.Rand) {
	t.Helper()
	file := name(1 + dice.Uint64N(3))
	info, err := fs.Stat(file)
	if err != nil || info.Size == 0 {
		return
	}
	at := dice.Int64N(info.Size)
	switch dice.IntN(5) {
	case 0, 1:
		corrupt(t, fs, file, at)
	case 2, 3:
		b := make([]byte, min(info.Size-at, 1+dice.Int64N(700)))
		if dice.IntN(2) == 0 {
			for i := range b {
				b[i] = byte(dice.Uint32())
			}
		}
		f, err := fs.OpenFile(file)
		check(t, err)
		_, err = f.WriteAt(b, at)
		check(t, errors.Join(err, f.Sync(), f.Close()))
	default:
		if dice.IntN(4) == 0 {
			check(t, fs.Remove(file))
		} else {
			check(t, cut(fs, file, at))
		}
	}
}
