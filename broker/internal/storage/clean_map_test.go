package storage

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

func TestOffsetMapKeepsTheLastOffsetOfEachKey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bytes := rapid.Int64Range(0, 100*slotBytes).Draw(t, "bytes")
		m := newOffsetMap(bytes, rapid.Float64Range(0.1, 1).Draw(t, "fill"), rapid.Int64Range(0, 200).Draw(t, "wanted"))
		if int64(len(m.slots)) > bytes/slotBytes+2 {
			t.Fatalf("%d slots in %d bytes", len(m.slots), bytes)
		}
		model := map[string]int64{}
		for offset := range rapid.Int64Range(0, 300).Draw(t, "records") {
			key := fmt.Sprint(rapid.IntRange(0, 80).Draw(t, "key"))
			_, known := model[key]
			if !m.put([]byte(key), offset) {
				if known || m.room > 0 {
					t.Fatalf("refused key %s, known %v, room %d", key, known, m.room)
				}
				continue
			}
			model[key] = offset
		}
		for key := range 90 {
			want, known := model[fmt.Sprint(key)]
			if !known {
				want = none
			}
			if got := m.last([]byte(fmt.Sprint(key))); got != want {
				t.Fatalf("key %d: %d, want %d", key, got, want)
			}
		}
	})
}

func TestOffsetMapTakesNoMoreThanItNeeds(t *testing.T) {
	m := newOffsetMap(128<<20, 0.9, 1000)
	if len(m.slots) > 2000 {
		t.Errorf("%d slots for 1000 keys", len(m.slots))
	}
	for i := range 1000 {
		if !m.put(fmt.Append(nil, i), int64(i)) {
			t.Fatalf("full after %d keys", i)
		}
	}
}

func BenchmarkOffsetMap(b *testing.B) {
	m := newOffsetMap(24<<20, 0.9, 1<<20)
	key := make([]byte, 20)
	for i := range b.N {
		key = fmt.Appendf(key[:0], "key-%d", i%500_000)
		m.put(key, int64(i))
	}
}
