package assign

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/skeinstream/skein/assign"
)

const encodings = 2000

func randomOwned(r *rand.Rand) []assign.TopicPartitions {
	var owned []assign.TopicPartitions
	for t := range r.IntN(4) {
		tp := assign.TopicPartitions{Topic: fmt.Sprintf("topic%d", t)}
		next := int32(0)
		for range r.IntN(5) {
			next += int32(1 + r.IntN(3))
			tp.Partitions = append(tp.Partitions, next-1)
		}
		if len(tp.Partitions) > 0 {
			owned = append(owned, tp)
		}
	}
	return owned
}

func randomSubscription(r *rand.Rand) assign.Subscription {
	s := assign.Subscription{Generation: int32(r.IntN(5)) - 1, Owned: randomOwned(r)}
	for t := range r.IntN(4) {
		s.Topics = append(s.Topics, fmt.Sprintf("topic%d", t))
	}
	if r.IntN(2) == 0 {
		s.UserData = []byte{byte(r.Uint32())}
	}
	if r.IntN(2) == 0 {
		s.Rack = "rack"
	}
	return s
}

// TestSubscriptionsHaveKafkasBytes: R-A24: Kafka reads ours in every version,
// writes them again, and the bytes are the same.
func TestSubscriptionsHaveKafkasBytes(t *testing.T) {
	r := seeded(t)
	var s script
	for range encodings {
		sub, version := randomSubscription(r), int16(r.IntN(4))
		ours := fmt.Sprintf("%x", sub.Append(nil, version))
		s.ask(func(theirs string) {
			if ours != theirs {
				t.Errorf("version %d of %+v:\nours  %s\nKafka %s", version, sub, ours, theirs)
			}
		}, "subscription %d %s", version, ours)
	}
	if err := s.run(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestAssignmentsHaveKafkasBytes(t *testing.T) {
	r := seeded(t)
	var s script
	for range encodings {
		a, version := assign.Assignment{Partitions: randomOwned(r)}, int16(r.IntN(4))
		if r.IntN(2) == 0 {
			a.UserData = []byte{1, 2}
		}
		ours := fmt.Sprintf("%x", a.Append(nil, version))
		s.ask(func(theirs string) {
			if ours != theirs {
				t.Errorf("version %d of %+v:\nours  %s\nKafka %s", version, a, ours, theirs)
			}
		}, "assignment %d %s", version, ours)
	}
	if err := s.run(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestStickyUserDataIsKafkas: R-A14. Kafka writes topics in the order of a hash
// map, so that bytes are compared for one topic, and the content for all.
func TestStickyUserDataIsKafkas(t *testing.T) {
	r := seeded(t)
	var s script
	for range encodings {
		owned, generation := randomOwned(r), int32(r.IntN(9))
		s.ask(func(theirs string) { compareSticky(t, owned, generation, theirs) },
			"sticky %d %x", generation, assign.Assignment{Partitions: owned}.Append(nil, 1))
	}
	if err := s.run(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func compareSticky(t *testing.T, owned []assign.TopicPartitions, generation int32, theirs string) {
	t.Helper()
	if ours := fmt.Sprintf("%x", assign.AppendStickyUserData(nil, owned, generation)); len(owned) < 2 && ours != theirs {
		t.Errorf("%v generation %d:\nours  %s\nKafka %s", owned, generation, ours, theirs)
	}
	got, g := assign.DecodeStickyUserData(unhex(t, theirs))
	if !reflect.DeepEqual(byTopic(got), byTopic(owned)) || g != generation {
		t.Errorf("read %v generation %d of Kafka's bytes, want %v generation %d", got, g, owned, generation)
	}
}

func byTopic(list []assign.TopicPartitions) map[string][]int32 {
	m := map[string][]int32{}
	for _, tp := range list {
		m[tp.Topic] = tp.Partitions
	}
	return m
}

// TestCooperativeUserDataIsKafkas: R-A18.
func TestCooperativeUserDataIsKafkas(t *testing.T) {
	var s script
	for _, generation := range []int32{-1, 0, 1, 77, 1 << 30} {
		ours := fmt.Sprintf("%x", assign.AppendCooperativeUserData(nil, generation))
		s.ask(func(theirs string) {
			if ours != theirs {
				t.Errorf("generation %d: %s, Kafka %s", generation, ours, theirs)
			}
		}, "cooperative %d", generation)
	}
	if err := s.run(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatalf("Kafka's answer %q: %v", s, err)
	}
	return b
}
