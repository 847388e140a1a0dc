package commit

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/skeinstream/skein/internal/vfs"
)

// logFrames lists the frames of a log as partition@base.
func logFrames(t *testing.T, fs vfs.FS) []string {
	t.Helper()
	var frames []string
	check(t, Read(fs, "wal", func(f Frame) error {
		name := fmt.Sprintf("%d@%d", f.Key.Partition, f.Base)
		if f.Kind == Note {
			name = "note " + name
		}
		frames = append(frames, name)
		return nil
	}))
	return frames
}

func expectFrames(t *testing.T, fs vfs.FS, want ...string) {
	t.Helper()
	if got := logFrames(t, fs); !slices.Equal(got, want) {
		t.Fatalf("the log has %v, want %v", got, want)
	}
}

// corrupt flips one bit of a file.
func corrupt(t *testing.T, fs vfs.FS, name string, at int64) {
	t.Helper()
	f, err := fs.OpenFile(name)
	check(t, err)
	b := make([]byte, 1)
	_, err = f.ReadAt(b, at)
	check(t, err)
	b[0] ^= 1
	_, err = f.WriteAt(b, at)
	check(t, err)
	check(t, errors.Join(f.Sync(), f.Close()))
}

// rounds commits one write of a partition after another, each in a round of its own.
func rounds(t *testing.T, cl *cluster, n int) {
	t.Helper()
	for i := range n {
		cl.parts[0].append(fmt.Sprint("content ", i), 1)
		check(t, cl.drain())
	}
}

func name(number uint64) string { return "wal/" + fileName(number) }

const frame9 = frameHeaderSize + 16 // a frame of content 0 to 9

func TestFramesAreReplayedUntilACheckpoint(t *testing.T) {
	fs := vfs.NewMemory()
	cl := openCluster(t, fs, 1, Config{})
	rounds(t, cl, 3)
	expectFrames(t, fs, "0@0", "0@1", "0@2")
	cl = openCluster(t, fs, 1, Config{})
	rounds(t, cl, 1)
	expectFrames(t, fs, "0@0", "0@1", "0@2", "0@3")
	check(t, cl.checkpoint())
	expectFrames(t, fs)
	rounds(t, cl, 1)
	expectFrames(t, fs, "0@4")
}

func TestTornLastRoundIsCutSilently(t *testing.T) {
	fs := vfs.NewMemory()
	cl := openCluster(t, fs, 1, Config{})
	rounds(t, cl, 3)
	for i := range 3 { // three frames of one round
		cl.parts[0].append(fmt.Sprint("content ", i), 1)
	}
	check(t, cl.drain())
	corrupt(t, fs, name(1), fileHeaderSize+3*frame9+frameHeaderSize) // the first of them
	expectFrames(t, fs, "0@0", "0@1", "0@2")
}

func TestDamageBeforeALaterRoundIsAnErrorAndCutsNothing(t *testing.T) {
	for what, at := range map[string]int64{"bytes": fileHeaderSize + frame9 + frameHeaderSize, "header": fileHeaderSize + frame9 + 53, "magic": fileHeaderSize + frame9} {
		t.Run(what, func(t *testing.T) {
			fs := vfs.NewMemory()
			rounds(t, openCluster(t, fs, 1, Config{}), 3)
			corrupt(t, fs, name(1), at)
			before, err := vfs.ReadFile(fs, name(1))
			check(t, err)
			_, err = Open(fs, "wal", Config{}, nil)
			var damage *DamageError
			if !errors.As(err, &damage) || damage.File != name(1) || damage.Position != fileHeaderSize+frame9 {
				t.Fatalf("%v", err)
			}
			if after, _ := vfs.ReadFile(fs, name(1)); !bytes.Equal(before, after) {
				t.Fatal("the file was changed")
			}
		})
	}
}

func TestDamageAtTheEndOfAFileThatIsNotTheLastIsAnError(t *testing.T) {
	fs := vfs.NewMemory()
	cl := openCluster(t, fs, 1, Config{FileBytes: 1000, CheckpointBytes: 1 << 20})
	rounds(t, cl, 1)
	check(t, cl.c.wal.ensureSpare())
	rounds(t, cl, 2)
	if cl.c.wal.header.number != 2 {
		t.Fatal("the log has not gone on in another file")
	}
	t.Run("the last frame is bad", func(t *testing.T) {
		image := fs.KillClone()
		corrupt(t, image, name(1), fileHeaderSize+frameHeaderSize)
		expectDamage(t, image, name(1), fileHeaderSize)
	})
	t.Run("the header is bad", func(t *testing.T) {
		image := fs.KillClone()
		corrupt(t, image, name(1), 20)
		expectDamage(t, image, name(1), 0)
	})
	t.Run("the header of the last file is bad", func(t *testing.T) {
		image := fs.KillClone()
		corrupt(t, image, name(2), 63)
		expectDamage(t, image, name(2), 0)
	})
	t.Run("a file in the middle is missing", func(t *testing.T) {
		check(t, cl.c.wal.ensureSpare())
		check(t, cl.c.wal.roll())
		rounds(t, cl, 1)
		image := fs.KillClone()
		check(t, image.Remove(name(2)))
		expectDamage(t, image, name(1), fileHeaderSize+frame9)
	})
}

func expectDamage(t *testing.T, fs vfs.FS, file string, position int64) {
	t.Helper()
	var damage *DamageError
	err := Read(fs, "wal", func(Frame) error { return nil })
	if !errors.As(err, &damage) || damage.File != file || damage.Position != position {
		t.Fatal(err)
	}
}

func TestLogOfANewerVersionIsRefused(t *testing.T) {
	fs := vfs.NewMemory()
	rounds(t, openCluster(t, fs, 1, Config{}), 1)
	f, err := fs.OpenFile(name(1))
	check(t, err)
	b := fileHeader{number: 1}.append(nil)
	b[11] = 2
	_, err = f.WriteAt(append(b[:60], seal(b[:60])...), 0)
	check(t, err)
	if _, err := Open(fs, "wal", Config{}, nil); err == nil || !strings.Contains(err.Error(), "version 2") {
		t.Fatal(err)
	}
}

// TestStaleFramesOfARecycledFileAreNotReplayed has frames of equal size, so that old ones stand exactly where new ones
// might follow, and the same salt in every life of a file.
func TestStaleFramesOfARecycledFileAreNotReplayed(t *testing.T) {
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprint("restart ", restart), func(t *testing.T) {
			fs := vfs.NewMemory()
			cfg := Config{FileBytes: fileHeaderSize + 5*frame9, CheckpointBytes: 1 << 20}
			cl := openCluster(t, fs, 1, cfg)
			check(t, cl.c.wal.ensureSpare())
			rounds(t, cl, 5)
			check(t, cl.checkpoint())
			if restart {
				cl = openCluster(t, fs, 1, cfg)
			}
			for range 4 { // until the full file is in use again
				check(t, cl.checkpoint())
				rounds(t, cl, 1)
				expectFrames(t, fs, fmt.Sprint("0@", cl.parts[0].committed-1))
			}
		})
	}
}

func TestFreedFilesBecomeSparesUpToTheCheckpointSize(t *testing.T) {
	fs := vfs.NewMemory()
	cl := openCluster(t, fs, 1, Config{FileBytes: 1000, CheckpointBytes: 2000})
	for range 6 {
		check(t, cl.c.wal.prepare(t.Context()))
		rounds(t, cl, 9)
	}
	check(t, cl.checkpoint())
	if n := len(cl.c.wal.spares); n != 2 {
		t.Fatal(n, "spares")
	}
	names, err := fs.List("wal")
	check(t, err)
	if len(names) != 3 {
		t.Fatal(names)
	}
}

func TestUnfinishedPreparationsAreCleanedUp(t *testing.T) {
	fs := vfs.NewMemory()
	rounds(t, openCluster(t, fs, 1, Config{}), 1)
	check(t, vfs.WriteFile(fs, "wal/"+temporary, []byte("half")))
	check(t, vfs.WriteFile(fs, name(0), nil))
	openCluster(t, fs, 1, Config{})
	names, err := fs.List("wal")
	check(t, err)
	if !slices.Equal(names, []string{fileName(1), fileName(2)}) {
		t.Fatal(names)
	}
}

// TestFailedRoundIsNotReplayedBehindAShorterOne: all bytes of a round of three frames reach the file, the write fails all
// the same, and the next round has one frame of the same size.
func TestFailedRoundIsNotReplayedBehindAShorterOne(t *testing.T) {
	faults := vfs.NewFaults(vfs.NewMemory())
	cl := openCluster(t, faults, 1, Config{})
	p := cl.parts[0]
	rounds(t, cl, 1)
	faults.Fail(vfs.Rule{Op: vfs.OpWrite, Name: "*.wal", Times: 1, Err: syscall.ENOSPC, Short: -1})
	for i := range 3 {
		p.append(fmt.Sprint("content ", i), 1)
	}
	check(t, cl.drain())
	expectFrames(t, faults, "0@0")
	if failures := p.takeFailures(); len(failures) != 3 || !errors.Is(failures[0], ErrNotWritten) || !errors.Is(failures[0], syscall.ENOSPC) {
		t.Fatal(failures)
	}
	rounds(t, cl, 1)
	expectFrames(t, faults, "0@0", "0@1")
}

func TestNothingIsCommittedWhileAFailedRoundCannotBeErased(t *testing.T) {
	faults := vfs.NewFaults(vfs.NewMemory())
	cl := openCluster(t, faults, 2, Config{DirectBytes: 1000})
	rounds(t, cl, 1)
	remove := faults.Fail(vfs.Rule{Op: vfs.OpWrite, Name: "*.wal", Err: syscall.EIO, Short: -1})
	cl.parts[0].append("small", 1)
	check(t, cl.drain())
	cl.parts[0].append(strings.Repeat("x", 2000), 1) // road B
	check(t, cl.drain())
	cl.parts[1].append(strings.Repeat("x", 2000), 1)
	check(t, cl.drain())
	if cl.parts[0].committed != 1 || cl.parts[1].committed != 0 || len(cl.parts[0].failures) != 2 {
		t.Fatal(cl.parts[0].committed, cl.parts[1].committed, cl.parts[0].failures)
	}
	remove()
	cl.parts[0].append(strings.Repeat("x", 2000), 1)
	check(t, cl.drain())
	if cl.parts[0].committed != 2 {
		t.Fatal("the service has not recovered")
	}
	// The numbers of the failed round are not among those that the next file calls durable.
	check(t, cl.c.wal.ensureSpare())
	check(t, cl.c.wal.roll())
	rounds(t, cl, 1)
	expectFrames(t, faults, "0@0", "note 0@2", "0@2")
}

func TestIncompleteGroupIsLeftOutForEver(t *testing.T) {
	fs := vfs.NewMemory()
	cl := openCluster(t, fs, 3, Config{})
	rounds(t, cl, 1)
	appendGroup(cl.c, "content 1", cl.parts...)
	check(t, cl.drain())
	expectFrames(t, fs, "0@0", "0@1", "1@0", "2@0")
	corrupt(t, fs, name(1), fileHeaderSize+3*frame9+frameHeaderSize)
	expectFrames(t, fs, "0@0")
	for _, p := range cl.parts { // as if the segments had not been reached
		check(t, fs.Remove(p.name))
	}
	cl = openCluster(t, fs, 3, Config{})
	rounds(t, cl, 1)
	expectFrames(t, fs, "0@0", "0@1")
}

func TestErrorOfReplayEndsOpen(t *testing.T) {
	fs := vfs.NewMemory()
	rounds(t, openCluster(t, fs, 1, Config{}), 2)
	_, err := Open(fs, "wal", Config{}, func(Frame) error { return errBroken })
	if !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
}

func TestErrorsWhileOpeningAreReported(t *testing.T) {
	for _, op := range []vfs.Op{vfs.OpOpen, vfs.OpCreate, vfs.OpRead, vfs.OpSync, vfs.OpMkdir, vfs.OpSyncDir, vfs.OpList, vfs.OpRemove} {
		fs := vfs.NewMemory()
		rounds(t, openCluster(t, fs, 1, Config{}), 2)
		check(t, vfs.WriteFile(fs, "wal/"+temporary, nil))
		faults := vfs.NewFaults(fs)
		faults.Fail(vfs.Rule{Op: op, Err: syscall.EIO})
		if _, err := Open(faults, "wal", Config{}, nil); !errors.Is(err, syscall.EIO) {
			t.Errorf("op %b: %v", op, err)
		}
	}
}
