package catalog_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/skeinstream/skein/broker/internal/catalog"
)

// model is the catalog as a beginner would write it.
type model struct {
	topics  map[string]catalog.Topic
	deleted []catalog.ID
}

// Apply agrees with the model on random records, right and wrong ones, and the snapshots before stay as they were.
func TestApplyAgreesWithTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &catalog.Snapshot{}
		m := model{topics: map[string]catalog.Topic{}}
		var olds []*catalog.Snapshot
		var pictures []string
		for range rapid.IntRange(1, 60).Draw(t, "records") {
			olds, pictures = append(olds, s), append(pictures, picture(s))
			r, right := m.draw(t)
			next, err := s.Apply(r)
			if (err == nil) != right {
				t.Fatalf("%+v: %v, want success %v", r, err, right)
			}
			if err == nil {
				s = next
			}
			m.compare(t, s)
		}
		for i, old := range olds {
			if picture(old) != pictures[i] {
				t.Fatalf("snapshot %d changed", i)
			}
		}
	})
}

// draw makes a record and says whether it follows from the model, which then has it.
func (m *model) draw(t *rapid.T) (catalog.Record, bool) {
	name := rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "name")
	known, have := m.topics[name]
	id := known.ID
	if !have {
		id = catalog.ID{rapid.Byte().Draw(t, "id"), 1}
	}
	switch rapid.IntRange(0, 4).Draw(t, "kind") {
	case 0:
		created := catalog.Topic{ID: catalog.ID{rapid.Byte().Draw(t, "new id"), 2}, Name: name, Partitions: int32(rapid.IntRange(0, 3).Draw(t, "partitions"))}
		right := !have && created.Partitions > 0 && !m.has(created.ID)
		if right {
			m.topics[name] = created
		}
		return catalog.Record{TopicCreated: &created}, right
	case 1:
		n := int32(rapid.IntRange(1, 5).Draw(t, "count"))
		right := have && n > known.Partitions
		if right {
			known.Partitions = n
			m.topics[name] = known
		}
		return catalog.Record{PartitionsSet: &catalog.PartitionsSet{ID: id, Partitions: n}}, right
	case 2:
		configs := map[string]string{"k": fmt.Sprint(rapid.IntRange(0, 9).Draw(t, "value"))}
		if have {
			known.Configs = configs
			m.topics[name] = known
		}
		return catalog.Record{TopicConfigs: &catalog.TopicConfigs{ID: id, Configs: configs}}, have
	case 3:
		if have {
			delete(m.topics, name)
			m.deleted = append(m.deleted, id)
		}
		return catalog.Record{TopicDeleted: &catalog.TopicDeleted{ID: id}}, have
	default:
		if len(m.deleted) > 0 && rapid.Bool().Draw(t, "oldest") {
			id = m.deleted[0]
		}
		i := slices.Index(m.deleted, id)
		if i >= 0 {
			m.deleted = slices.Delete(m.deleted, i, i+1)
		}
		return catalog.Record{TopicGone: &catalog.TopicGone{ID: id}}, i >= 0
	}
}

func (m *model) has(id catalog.ID) bool {
	for _, t := range m.topics {
		if t.ID == id {
			return true
		}
	}
	return false
}

func (m *model) compare(t *rapid.T, s *catalog.Snapshot) {
	if got := names(s.Topics()); !slices.Equal(got, slices.Sorted(maps.Keys(m.topics))) {
		t.Fatalf("topics %v", got)
	}
	for name, want := range m.topics {
		got := s.Topic(name)
		if got == nil || got != s.TopicByID(want.ID) || got.Partitions != want.Partitions || !maps.Equal(got.Configs, want.Configs) {
			t.Fatalf("%+v, want %+v", got, want)
		}
	}
	var deleted []catalog.ID
	for _, d := range s.Deleted() {
		deleted = append(deleted, d.ID)
	}
	if !slices.Equal(deleted, m.deleted) {
		t.Fatalf("deleted %v, want %v", deleted, m.deleted)
	}
}
