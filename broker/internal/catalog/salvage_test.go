package catalog_test

import (
	"bytes"
	"errors"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/skeinstream/skein/broker/internal/catalog"
	"github.com/skeinstream/skein/internal/vfs"
)

const (
	logFile      = "data/catalog/catalog.log"
	snapshotFile = "data/catalog/catalog.snapshot"
	versionAt    = 12 // of both files
	headerSize   = 16
)

// worked is a disk on which the workload has ended, with a snapshot and changes after it, and what its catalog had.
func worked(t *testing.T) (fs *vfs.Memory, had *catalog.Snapshot) {
	t.Helper()
	fs = disk(t)
	ok(t, workload(t.Context(), fs, func(c *catalog.Catalog) { had = c.Snapshot() }))
	return fs, had
}

func flipped(t *testing.T, fs *vfs.Memory, name string, at int64) *vfs.Memory {
	t.Helper()
	fs = fs.KillClone()
	f := must[vfs.File](t)(fs.OpenFile(name))
	b := make([]byte, 1)
	must[int](t)(f.ReadAt(b, at))
	b[0] ^= 4
	must[int](t)(f.WriteAt(b, at))
	ok(t, errors.Join(f.Sync(), f.Close()))
	return fs
}

// repaired repairs a catalog that does not open and opens it. Starts up to 50 are known of from elsewhere.
func repaired(t *testing.T, fs *vfs.Memory) (*catalog.Salvage, *catalog.Catalog) {
	t.Helper()
	before := content(t, fs, logFile)
	x := must[*catalog.Salvage](t)(catalog.Examine(fs, "data/catalog"))
	if len(x.Damage) == 0 {
		t.Fatal("nothing was found")
	}
	if again := content(t, fs, logFile); !bytes.Equal(before, again) {
		t.Fatal("looking has changed something")
	}
	ok(t, x.Repair(fs, "data/catalog", x.Fences(50)...))
	if aside := content(t, fs, logFile+".damaged"); !bytes.Equal(aside, before) {
		t.Fatal("the log was not saved")
	}
	if again := must[*catalog.Salvage](t)(catalog.Examine(fs, "data/catalog")); len(again.Damage) > 0 || again.Lost > 0 {
		t.Fatalf("after the repair %+v", again.Damage)
	}
	c := must[*catalog.Catalog](t)(catalog.Open(fs, "data/catalog", catalog.Options{Random: seeded()}))
	t.Cleanup(func() { _ = c.Close() })
	return x, c
}

func content(t *testing.T, fs vfs.FS, name string) []byte {
	t.Helper()
	b, _ := vfs.ReadFile(fs, name)
	return b
}

// frameAt is the text of the frame around a byte of a file, all of it before the first.
func frameAt(file []byte, at int) string {
	magic := []byte{0xff, 0xfe, 'S', 'K'}
	from := bytes.LastIndex(file[:min(at+len(magic), len(file))], magic)
	if from < 0 || at < headerSize {
		return ""
	}
	to := bytes.Index(file[from+1:], magic)
	if to < 0 {
		return string(file[from:])
	}
	return string(file[from : from+1+to])
}

// Wherever a bit of the log flips, the change that was there is lost and no other.
func TestARepairedCatalogHasAllButTheDamagedChange(t *testing.T) {
	fs, had := worked(t)
	log := content(t, fs, logFile)
	damaged := 0
	for at := range log {
		image := flipped(t, fs, logFile, int64(at))
		_, err := catalog.Open(image.KillClone(), "data/catalog", catalog.Options{Random: seeded()})
		if err == nil {
			continue // the end of the log, which a crash may have torn
		}
		if at >= versionAt && at < headerSize {
			if _, err := catalog.Examine(image, "data/catalog"); err == nil {
				t.Error("a file of another version is taken for a damaged one")
			}
			continue
		}
		damaged++
		x, c := repaired(t, image)
		compareLoss(t, had, c.Snapshot(), frameAt(log, at))
		if at >= headerSize {
			compareFences(t, x, c)
		}
	}
	if damaged < 200 {
		t.Errorf("only %d of %d flips are damage", damaged, len(log))
	}
}

// compareLoss compares a repaired catalog with what was there, except for what the lost change is about.
func compareLoss(t *testing.T, had, has *catalog.Snapshot, lost string) {
	t.Helper()
	for _, want := range had.Topics() {
		got := has.TopicByID(want.ID)
		if strings.Contains(lost, want.ID.String()) {
			continue
		}
		if got == nil || got.Name != want.Name || got.Partitions != want.Partitions || !maps.Equal(got.Configs, want.Configs) {
			t.Fatalf("without %q: topic %+v, want %+v", lost, got, want)
		}
	}
	for _, gone := range had.Deleted() {
		if has.TopicByID(gone.ID) != nil && !strings.Contains(lost, gone.ID.String()) {
			t.Fatalf("without %q: deleted topic %s is there", lost, gone.Name)
		}
	}
	if !strings.Contains(lost, "brokerConfigs") && has.BrokerConfigs("")["n"] != had.BrokerConfigs("")["n"] {
		t.Fatalf("without %q: broker settings %v", lost, has.BrokerConfigs(""))
	}
	if has.ClusterID() != had.ClusterID() {
		t.Fatalf("without %q: another cluster", lost)
	}
}

// compareFences checks that nothing is given twice that may have been given by a change that is lost.
func compareFences(t *testing.T, x *catalog.Salvage, c *catalog.Catalog) {
	t.Helper()
	if first := must[int64](t)(c.NextProducerIDs(t.Context(), 1)); first < 8000 || x.Lost == 0 && !x.Unknown {
		t.Errorf("producer id %d is given a second time, %d changes lost", first, x.Lost)
	}
	most := int32(51)
	if x.Unknown { // any number of starts may be among what is lost
		most = 1 << 20
	}
	if c.StartCount() <= most {
		t.Errorf("start %d", c.StartCount())
	}
}

// Without the snapshot there is what the log has; where the log is missing, what the snapshot has.
func TestARepairedCatalogHasWhatOneOfItsFilesHas(t *testing.T) {
	fs, had := worked(t)
	for at := range content(t, fs, snapshotFile) {
		if at >= versionAt && at < headerSize || at%7 > 0 {
			continue
		}
		x, c := repaired(t, flipped(t, fs, snapshotFile, int64(at)))
		compareFences(t, x, c)
		if got := len(c.Snapshot().Topics()); got >= len(had.Topics()) || len(x.Passed) == 0 {
			t.Fatalf("%d topics, passed over %v", got, x.Passed)
		}
	}
	image := fs.KillClone()
	ok(t, image.Remove(logFile))
	x := must[*catalog.Salvage](t)(catalog.Examine(image, "data/catalog"))
	if len(x.Damage) != 1 || x.Damage[0].File != logFile || len(x.Snapshot.Topics()) == 0 {
		t.Fatalf("%+v with %d topics", x.Damage, len(x.Snapshot.Topics()))
	}
	ok(t, x.Repair(image, "data/catalog", x.Fences(50)...))
	compareFences(t, x, open(t, image))
}

func TestACatalogWithoutDamageIsLeftAlone(t *testing.T) {
	fs, had := worked(t)
	x := must[*catalog.Salvage](t)(catalog.Examine(fs, "data/catalog"))
	if len(x.Damage) > 0 || x.Lost > 0 || len(x.Fences(3)) > 0 || picture(x.Snapshot) != picture(had) {
		t.Errorf("%+v, lost %d:\n%s", x.Damage, x.Lost, picture(x.Snapshot))
	}
	if x := must[*catalog.Salvage](t)(catalog.Examine(vfs.NewMemory(), "data/catalog")); len(x.Damage) > 0 {
		t.Errorf("of nothing: %+v", x.Damage)
	}
}

// The name of a topic whose deletion is lost belongs to the one that was made later.
func TestALostDeletionFollowsFromALaterTopic(t *testing.T) {
	fs := disk(t)
	c := open(t, fs)
	first, second := catalog.ID{1}, catalog.ID{2}
	change := func(r catalog.Record) {
		must[*catalog.Snapshot](t)(c.Change(t.Context(), func(*catalog.Snapshot) ([]catalog.Record, error) { return []catalog.Record{r}, nil }))
	}
	change(catalog.Record{TopicCreated: &catalog.Topic{ID: first, Name: "t", Partitions: 1}})
	at := len(content(t, fs, logFile))
	change(catalog.Record{TopicDeleted: &catalog.TopicDeleted{ID: first}})
	change(catalog.Record{TopicCreated: &catalog.Topic{ID: second, Name: "t", Partitions: 2}})
	_, again := repaired(t, flipped(t, fs, logFile, int64(at+20)))
	s := again.Snapshot()
	if got := s.Topic("t"); got == nil || got.ID != second || len(s.Deleted()) != 1 || s.Deleted()[0].ID != first {
		t.Errorf("got %s", picture(s))
	}
}

func TestACrashInARepairOfTheCatalog(t *testing.T) {
	fs, _ := worked(t)
	fs = flipped(t, fs, logFile, 100)
	faults := vfs.NewFaults(fs)
	var crashes []*vfs.Memory
	faults.BeforeMutation(func(n int, _ vfs.Op, _ string) {
		crashes = append(crashes, fs.CrashCloneTorn(uint64(n)), fs.KillClone())
	})
	x := must[*catalog.Salvage](t)(catalog.Examine(faults, "data/catalog"))
	ok(t, x.Repair(faults, "data/catalog", x.Fences(50)...))
	want := picture(must[*catalog.Salvage](t)(catalog.Examine(fs, "data/catalog")).Snapshot)
	for i, crashed := range crashes {
		x := must[*catalog.Salvage](t)(catalog.Examine(crashed, "data/catalog"))
		if len(x.Damage) > 0 {
			ok(t, x.Repair(crashed, "data/catalog", x.Fences(50)...))
		}
		if got := picture(open(t, crashed).Snapshot()); got != want {
			t.Fatalf("crash %d:\n%s\nwant\n%s", i, got, want)
		}
	}
}

// However much is damaged: a repair makes a catalog that opens.
func TestASalvageOfAnyCatalog(t *testing.T) {
	fs, _ := worked(t)
	for seed := range uint64(300) {
		image, dice := fs.KillClone(), rand.New(rand.NewPCG(seed, 6))
		for range 1 + dice.IntN(5) {
			file := []string{logFile, snapshotFile}[dice.IntN(2)]
			b := content(t, image, file)
			if len(b) <= headerSize {
				continue
			}
			switch at := headerSize + dice.IntN(len(b)-headerSize); dice.IntN(4) {
			case 0:
				b = b[:at]
			case 1:
				clear(b[at:min(len(b), at+dice.IntN(200))])
			case 2:
				b = append(b[:at], b[min(len(b), at+dice.IntN(300)):]...)
			default:
				b[at] ^= byte(1 + dice.IntN(255))
			}
			ok(t, vfs.WriteFile(image, file, b))
		}
		x := must[*catalog.Salvage](t)(catalog.Examine(image, "data/catalog"))
		if len(x.Damage) > 0 {
			ok(t, x.Repair(image, "data/catalog", x.Fences(50)...))
		}
		c, err := catalog.Open(image, "data/catalog", catalog.Options{Random: seeded()})
		if err != nil {
			t.Fatalf("seed %d, %+v: %v", seed, x.Damage, err)
		}
		ok(t, c.Close())
	}
}
