package catalog_test

import (
	"bytes"
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/skeinstream/skein/broker/internal/catalog"
	"github.com/skeinstream/skein/broker/internal/catalog/catalogtest"
	"github.com/skeinstream/skein/internal/vfs"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden makes a catalog that has something of every kind, in the snapshot file or in the log.
func golden(t *testing.T, fs vfs.FS, logMax int64) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Open(fs, "c", catalog.Options{Random: rand.NewChaCha8([32]byte{9}), LogMax: logMax})
	ok(t, err)
	ctx := t.Context()
	a := must[*catalog.Topic](t)(catalogtest.CreateTopic(ctx, c, catalog.Topic{Name: "orders", Partitions: 3, Configs: map[string]string{"retention.ms": "1000"}, CreatedMs: 1700000000000}))
	gone := must[*catalog.Topic](t)(catalogtest.CreateTopic(ctx, c, catalog.Topic{Name: "gone", Partitions: 1}))
	ok(t, catalogtest.AddPartitions(ctx, c, a.ID, 4))
	ok(t, catalogtest.SetTopicConfigs(ctx, c, a.ID, map[string]string{"cleanup.policy": "compact"}))
	ok(t, catalogtest.SetBrokerConfigs(ctx, c, "1", map[string]string{"log.cleaner.threads": "2"}))
	must[int64](t)(c.NextProducerIDs(ctx, 1000))
	ok(t, catalogtest.DeleteTopic(ctx, c, gone.ID))
	return c
}

// The files of format version 1 are as they were, and are still read.
func TestGoldenFiles(t *testing.T) {
	for _, c := range []struct {
		name   string
		logMax int64
	}{{"catalog.log", 0}, {"catalog.snapshot", 1}} {
		fs := vfs.NewMemory()
		made := golden(t, fs, c.logMax)
		ok(t, made.Close())
		got := must[[]byte](t)(vfs.ReadFile(fs, filepath.Join("c", c.name)))
		path := filepath.Join("testdata", "v1-"+c.name)
		if *update {
			ok(t, os.WriteFile(path, got, 0o644))
		}
		want := must[[]byte](t)(os.ReadFile(path))
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what it was:\n%q\nwant\n%q", c.name, got, want)
		}
		read := vfs.NewMemory()
		ok(t, read.MkdirAll("c"))
		if c.name != "catalog.log" {
			ok(t, vfs.WriteFile(read, "c/catalog.log", append([]byte("skeincatlog\x00"), 0, 0, 0, 1)))
		}
		ok(t, vfs.WriteFile(read, filepath.Join("c", c.name), want))
		again := must[*catalog.Catalog](t)(catalog.Open(read, "c", catalog.Options{Random: seeded()}))
		if p := picture(again.Snapshot()); p != picture(made.Snapshot()) || again.StartCount() != 1 || again.ClusterID() != made.ClusterID() {
			t.Errorf("%s is read as\n%s", c.name, p)
		}
		if next := must[int64](t)(again.NextProducerIDs(t.Context(), 1)); next != 1000 {
			t.Errorf("%s: next producer id %d", c.name, next)
		}
		ok(t, again.Close())
	}
}

// Whatever byte of the log is changed or lost: what comes back is a beginning of what was written, or the damage is named
// and nothing is changed. Only damage to the very last frame can be taken for a torn write.
func TestDamageIsRefusedAndATornTailIsCut(t *testing.T) {
	fs := vfs.NewMemory()
	whole := golden(t, fs, 0)
	ok(t, whole.Close())
	log := must[[]byte](t)(vfs.ReadFile(fs, "c/catalog.log"))
	last := bytes.LastIndex(log, []byte{0xff, 0xfe, 'S', 'K'})
	for i := range log {
		damaged := slices.Clone(log)
		damaged[i] ^= 0x10
		_, err := reopened(t, damaged)
		var damage *catalog.DamageError
		if i < last && !errors.As(err, &damage) {
			t.Fatalf("byte %d changed: %v", i, err)
		}
		if i >= last && err != nil && !errors.As(err, &damage) {
			t.Fatalf("byte %d of the last frame changed: %v", i, err)
		}
	}
	twoBad := slices.Clone(log)
	twoBad[last-1] ^= 1
	twoBad[len(log)-1] ^= 1
	if _, err := reopened(t, twoBad); err == nil {
		t.Error("two bad frames are taken for one torn one")
	}
	for size := last; size < len(log); size++ {
		c, err := reopened(t, log[:size])
		if err != nil || c.Snapshot().Topic("gone") == nil {
			t.Fatalf("cut at %d: %v", size, err)
		}
	}
}

// reopened opens a catalog whose log is this, and when that fails checks that the log was left alone.
func reopened(t *testing.T, log []byte) (*catalog.Catalog, error) {
	t.Helper()
	fs := vfs.NewMemory()
	ok(t, fs.MkdirAll("c"))
	ok(t, vfs.WriteFile(fs, "c/catalog.log", log))
	c, err := catalog.Open(fs, "c", catalog.Options{Random: seeded()})
	if err != nil {
		if left := must[[]byte](t)(vfs.ReadFile(fs, "c/catalog.log")); !bytes.Equal(left, log) {
			t.Error("the damaged log was changed")
		}
		return nil, err
	}
	t.Cleanup(func() { _ = c.Close() })
	return c, nil
}

func TestADamagedSnapshotIsRefused(t *testing.T) {
	fs := vfs.NewMemory()
	ok(t, golden(t, fs, 1).Close())
	content := must[[]byte](t)(vfs.ReadFile(fs, "c/catalog.snapshot"))
	for _, damaged := range [][]byte{nil, content[:20], append(slices.Clone(content), 0), bytes.Replace(content, []byte("orders"), []byte("ordern"), 1)} {
		ok(t, vfs.WriteFile(fs, "c/catalog.snapshot", damaged))
		var damage *catalog.DamageError
		if _, err := catalog.Open(fs, "c", catalog.Options{Random: seeded()}); !errors.As(err, &damage) {
			t.Errorf("%d bytes: %v", len(damaged), err)
		}
	}
}

// A log of another catalog, or one that misses changes, does not follow from the snapshot.
func TestALogThatDoesNotFollowTheSnapshotIsRefused(t *testing.T) {
	fs := vfs.NewMemory()
	ok(t, golden(t, fs, 0).Close())
	log := must[[]byte](t)(vfs.ReadFile(fs, "c/catalog.log"))
	second := 16 + bytes.Index(log[17:], []byte{0xff, 0xfe, 'S', 'K'}) + 1
	var damage *catalog.DamageError
	if _, err := reopened(t, append(slices.Clone(log[:16]), log[second:]...)); !errors.As(err, &damage) {
		t.Errorf("%v", err)
	}
	ok(t, fs.Remove("c/catalog.log"))
	ok(t, vfs.WriteFile(fs, "c/catalog.snapshot", []byte("x")))
	if _, err := catalog.Open(fs, "c", catalog.Options{Random: seeded()}); err == nil {
		t.Error("a snapshot without a log is opened")
	}
}

// FuzzOpen feeds arbitrary bytes as the log: it is opened or refused, never a panic, and what was opened can be changed
// and opened again.
func FuzzOpen(f *testing.F) {
	for _, name := range []string{"v1-catalog.log", "v1-catalog.snapshot"} {
		if seed, err := os.ReadFile(filepath.Join("testdata", name)); err == nil {
			f.Add(seed)
		}
	}
	f.Fuzz(func(t *testing.T, log []byte) {
		c, err := reopened(t, log)
		if err != nil {
			return
		}
		ok(t, catalogtest.SetBrokerConfigs(t.Context(), c, "9", map[string]string{"a": "b"}))
	})
}
