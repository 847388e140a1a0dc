package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/skeinstream/skein/broker/internal/catalog"
	"github.com/skeinstream/skein/broker/internal/catalog/catalogtest"
	"github.com/skeinstream/skein/internal/vfs"
)

func seeded() io.Reader { return rand.NewChaCha8([32]byte{1}) }

func open(t *testing.T, fs vfs.FS) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Open(fs, "data/catalog", catalog.Options{Random: seeded()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func names(topics []*catalog.Topic) (all []string) {
	for _, t := range topics {
		all = append(all, t.Name)
	}
	return all
}

func TestWhatIsChangedIsThereAfterARestart(t *testing.T) {
	fs, ctx := vfs.NewMemory(), t.Context()
	c := open(t, fs)
	a := must[*catalog.Topic](t)(catalogtest.CreateTopic(ctx, c, catalog.Topic{Name: "a", Partitions: 1, CreatedMs: 5}))
	b := must[*catalog.Topic](t)(catalogtest.CreateTopic(ctx, c, catalog.Topic{Name: "b", Partitions: 2, Configs: map[string]string{"retention.ms": "1"}}))
	ok(t, catalogtest.AddPartitions(ctx, c, a.ID, 3))
	ok(t, catalogtest.SetTopicConfigs(ctx, c, b.ID, map[string]string{"segment.ms": "2"}))
	ok(t, catalogtest.SetBrokerConfigs(ctx, c, "", map[string]string{"log.cleaner.threads": "2"}))
	if first := must[int64](t)(c.NextProducerIDs(ctx, 1000)); first != 0 {
		t.Errorf("first producer id %d", first)
	}
	ok(t, catalogtest.DeleteTopic(ctx, c, a.ID))
	ok(t, c.Close())

	again := open(t, fs.CrashClone(1))
	s := again.Snapshot()
	if got := names(s.Topics()); !slices.Equal(got, []string{"b"}) {
		t.Errorf("topics %v", got)
	}
	if got := s.TopicByID(b.ID); got == nil || got.Partitions != 2 || !maps.Equal(got.Configs, map[string]string{"segment.ms": "2"}) {
		t.Errorf("%+v", got)
	}
	if got := names(s.Deleted()); !slices.Equal(got, []string{"a"}) || s.Deleted()[0].Partitions != 3 {
		t.Errorf("deleted %v", got)
	}
	if again.ClusterID() != c.ClusterID() || again.DirectoryID() != c.DirectoryID() || len(c.ClusterID()) != 22 {
		t.Errorf("identities %s, %s", again.ClusterID(), c.ClusterID())
	}
	if c.StartCount() != 0 || again.StartCount() != 1 {
		t.Errorf("starts %d, %d", c.StartCount(), again.StartCount())
	}
	if first := must[int64](t)(again.NextProducerIDs(ctx, 1000)); first != 1000 {
		t.Errorf("next producer id %d", first)
	}
	if got := s.BrokerConfigs("")["log.cleaner.threads"]; got != "2" {
		t.Errorf("broker setting %q", got)
	}
	ok(t, again.ForgetTopics(ctx, a.ID, b.ID))
	if got := again.Snapshot(); len(got.Deleted()) != 0 || len(got.Topics()) != 1 {
		t.Errorf("forgot the wrong ones: %v, %v", names(got.Deleted()), names(got.Topics()))
	}
}

func TestASnapshotNeverChanges(t *testing.T) {
	c, ctx := open(t, vfs.NewMemory()), t.Context()
	a := must[*catalog.Topic](t)(catalogtest.CreateTopic(ctx, c, catalog.Topic{Name: "m", Partitions: 1}))
	before := c.Snapshot()
	must[*catalog.Topic](t)(catalogtest.CreateTopic(ctx, c, catalog.Topic{Name: "a", Partitions: 1}))
	ok(t, catalogtest.AddPartitions(ctx, c, a.ID, 2))
	ok(t, catalogtest.DeleteTopic(ctx, c, a.ID))
	if got := names(before.Topics()); !slices.Equal(got, []string{"m"}) || before.Topic("m").Partitions != 1 || before.TopicByID(a.ID) == nil {
		t.Errorf("the old snapshot shows %v", got)
	}
}

func TestATopicThatIsCreatedAgainHasAnotherID(t *testing.T) {
	c, ctx := open(t, vfs.NewMemory()), t.Context()
	first := must[*catalog.Topic](t)(catalogtest.CreateTopic(ctx, c, catalog.Topic{Name: "a", Partitions: 1}))
	if _, err := catalogtest.CreateTopic(ctx, c, catalog.Topic{Name: "a", Partitions: 1}); !errors.Is(err, catalogtest.ErrTopicExists) {
		t.Errorf("created twice: %v", err)
	}
	ok(t, catalogtest.DeleteTopic(ctx, c, first.ID))
	if err := catalogtest.DeleteTopic(ctx, c, first.ID); !errors.Is(err, catalogtest.ErrNoTopic) {
		t.Errorf("deleted twice: %v", err)
	}
	second := must[*catalog.Topic](t)(catalogtest.CreateTopic(ctx, c, catalog.Topic{Name: "a", Partitions: 1}))
	if first.ID == second.ID {
		t.Error("the id is the same")
	}
	if v := first.ID[6] >> 4; v != 4 {
		t.Errorf("UUID version %d", v)
	}
}

func TestPublishedIsToldInOrder(t *testing.T) {
	var seen []string
	c := must[*catalog.Catalog](t)(catalog.Open(vfs.NewMemory(), "c", catalog.Options{Random: seeded(), Published: func(before, after *catalog.Snapshot) {
		seen = append(seen, strings.Join(names(before.Topics()), "")+">"+strings.Join(names(after.Topics()), ""))
	}}))
	for _, name := range []string{"a", "b"} {
		must[*catalog.Topic](t)(catalogtest.CreateTopic(t.Context(), c, catalog.Topic{Name: name, Partitions: 1}))
	}
	if want := []string{">", ">a", "a>ab"}; !slices.Equal(seen, want) {
		t.Errorf("%v, want %v", seen, want)
	}
	ok(t, c.Close())
}

func TestChangesWaitForTheirTurnAndMayGiveUp(t *testing.T) {
	c := open(t, vfs.NewMemory())
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	inside := func(*catalog.Snapshot) ([]catalog.Record, error) {
		err := catalogtest.SetBrokerConfigs(canceled, c, "", nil)
		return nil, err
	}
	if _, err := c.Change(t.Context(), inside); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestALongLogGoesIntoTheSnapshotFile(t *testing.T) {
	fs, ctx := vfs.NewMemory(), t.Context()
	c := must[*catalog.Catalog](t)(catalog.Open(fs, "c", catalog.Options{Random: seeded(), LogMax: 2000}))
	for i := range 100 {
		ok(t, catalogtest.SetBrokerConfigs(ctx, c, "", map[string]string{"n": strings.Repeat("x", i)}))
	}
	info := must[vfs.Info](t)(fs.Stat(path.Join("c", "catalog.log")))
	if info.Size > 2300 {
		t.Errorf("the log has %d bytes", info.Size)
	}
	ok(t, c.Close())
	again := must[*catalog.Catalog](t)(catalog.Open(fs, "c", catalog.Options{Random: seeded()}))
	if got := again.Snapshot().BrokerConfigs("")["n"]; len(got) != 99 || again.ClusterID() != c.ClusterID() {
		t.Errorf("%d, %s", len(got), again.ClusterID())
	}
	ok(t, again.Close())
}

// BenchmarkForgetTopics is what it costs, for each of them, to forget so many topics at once, while no other change can be made.
func BenchmarkForgetTopics(b *testing.B) {
	for _, topics := range []int{1000, 20_000} {
		b.Run(fmt.Sprintf("topics=%d", topics), func(b *testing.B) {
			c, err := catalog.Open(vfs.NewMemory(), "data/catalog", catalog.Options{Random: seeded(), LogMax: 1 << 40})
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			for b.Loop() {
				b.StopTimer()
				ids := deletedTopics(b, c, topics)
				b.StartTimer()
				if err := c.ForgetTopics(b.Context(), ids...); err != nil || len(c.Snapshot().Deleted()) > 0 {
					b.Fatalf("%d are left: %v", len(c.Snapshot().Deleted()), err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*topics), "ns/topic")
		})
	}
}

// deletedTopics makes topics that are deleted already.
func deletedTopics(b *testing.B, c *catalog.Catalog, n int) (ids []catalog.ID) {
	b.Helper()
	_, err := c.Change(b.Context(), func(*catalog.Snapshot) (records []catalog.Record, err error) {
		for i := range n {
			id, err := c.NewTopicID()
			if err != nil {
				return nil, err
			}
			ids = append(ids, id)
			records = append(records, catalog.Record{TopicCreated: &catalog.Topic{ID: id, Name: fmt.Sprintf("topic-%05d", i), Partitions: 1}},
				catalog.Record{TopicDeleted: &catalog.TopicDeleted{ID: id}})
		}
		return records, nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return ids
}
