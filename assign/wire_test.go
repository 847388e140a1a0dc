package assign_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/skeinstream/skein/assign"
	"pgregory.net/rapid"
)

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var golden = assign.Subscription{
	Topics:     []string{"b", "a"},
	UserData:   []byte{7},
	Owned:      []assign.TopicPartitions{{Topic: "b", Partitions: []int32{2, 1}}, {Topic: "a", Partitions: []int32{0}}},
	Generation: 5,
	Rack:       "r",
}

const (
	goldenTopics = "00000002 0001 61 0001 62"
	goldenOwned  = "00000002 0001 61 00000001 00000000 0001 62 00000002 00000001 00000002"
)

// TestSubscriptionBytes: R-A24, each version appends its field to the one before.
func TestSubscriptionBytes(t *testing.T) {
	want := []string{
		"0000" + goldenTopics + "00000001 07",
		"0001" + goldenTopics + "00000001 07" + goldenOwned,
		"0002" + goldenTopics + "00000001 07" + goldenOwned + "00000005",
		"0003" + goldenTopics + "00000001 07" + goldenOwned + "00000005 0001 72",
	}
	for v, w := range want {
		if got := golden.Append(nil, int16(v)); !bytes.Equal(got, unhex(t, w)) {
			t.Errorf("version %d: %x, want %x", v, got, unhex(t, w))
		}
	}
}

func TestSubscriptionWithoutUserDataAndRackWritesNulls(t *testing.T) {
	got := assign.Subscription{Topics: []string{"a"}, Generation: assign.NoGeneration}.Append(nil, 3)
	want := unhex(t, "0003 00000001 0001 61 ffffffff 00000000 ffffffff ffff")
	if !bytes.Equal(got, want) {
		t.Errorf("%x, want %x", got, want)
	}
}

func TestSubscriptionVersionsReadWhatTheyKnow(t *testing.T) {
	for v := int16(0); v <= 3; v++ {
		got, err := assign.DecodeSubscription(golden.Append(nil, v))
		if err != nil {
			t.Fatal(err)
		}
		want := assign.Subscription{Topics: []string{"a", "b"}, UserData: []byte{7}, Generation: assign.NoGeneration}
		if v >= 1 {
			want.Owned = []assign.TopicPartitions{{Topic: "a", Partitions: []int32{0}}, {Topic: "b", Partitions: []int32{1, 2}}}
		}
		if v >= 2 {
			want.Generation = 5
		}
		if v >= 3 {
			want.Rack = "r"
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("version %d: %+v, want %+v", v, got, want)
		}
	}
}

// TestNewerVersionsAreReadByTheirKnownPrefix: R-A24.
func TestNewerVersionsAreReadByTheirKnownPrefix(t *testing.T) {
	b := append(golden.Append(nil, 3), "what version 9 adds"...)
	b[1] = 9
	got, err := assign.DecodeSubscription(b)
	if err != nil || got.Rack != "r" || got.Generation != 5 {
		t.Errorf("subscription of version 9: %+v, %v", got, err)
	}
	b = append(assign.Assignment{Partitions: golden.Owned}.Append(nil, 3), 1, 2, 3)
	b[1] = 9
	a, err := assign.DecodeAssignment(b)
	if err != nil || !reflect.DeepEqual(a.Partitions, golden.Owned) {
		t.Errorf("assignment of version 9: %+v, %v", a, err)
	}
}

func TestMalformedBytesAreErrors(t *testing.T) {
	for name, s := range map[string]string{
		"nothing":            "",
		"half a version":     "00",
		"negative version":   "ffff 00000000 ffffffff",
		"null topics":        "0000 ffffffff ffffffff",
		"null topic name":    "0000 00000001 ffff ffffffff",
		"no user data":       "0000 00000000",
		"length -2":          "0000 00000000 fffffffe",
		"a billion topics":   "0000 3b9aca00 0001 61",
		"torn owned":         "0001 00000000 ffffffff 00000001 0001 61 00000002 00000000",
		"generation missing": "0002 00000000 ffffffff 00000000",
	} {
		if _, err := assign.DecodeSubscription(unhex(t, s)); !errors.Is(err, assign.ErrMalformed) {
			t.Errorf("%s: error %v, want ErrMalformed", name, err)
		}
	}
	for _, s := range []string{"00", "8000 00000000 ffffffff", "0000 00000001 0001 61 00000001"} {
		if _, err := assign.DecodeAssignment(unhex(t, s)); !errors.Is(err, assign.ErrMalformed) {
			t.Errorf("assignment %s: error %v, want ErrMalformed", s, err)
		}
	}
}

func TestAssignmentBytes(t *testing.T) {
	a := assign.Assignment{Partitions: golden.Owned, UserData: []byte{}}
	want := unhex(t, "0001 00000002 0001 62 00000002 00000002 00000001 0001 61 00000001 00000000 00000000")
	if got := a.Append(nil, 1); !bytes.Equal(got, want) {
		t.Errorf("%x, want %x: the order is the caller's", got, want)
	}
	if got, err := assign.DecodeAssignment(want); err != nil || !reflect.DeepEqual(got, a) {
		t.Errorf("%+v, %v, want %+v", got, err, a)
	}
	if got, err := assign.DecodeAssignment(nil); err != nil || len(got.Partitions) != 0 {
		t.Errorf("empty bytes: %+v, %v", got, err)
	}
}

// TestStickyUserData: R-A14, version 1, version 0, and garbage that fails nobody.
func TestStickyUserData(t *testing.T) {
	v0 := unhex(t, goldenOwned)
	v1 := append(unhex(t, goldenOwned), 0, 0, 0, 5)
	if got := assign.AppendStickyUserData(nil, golden.Owned, 5); !bytes.Equal(got, v1) {
		t.Errorf("%x, want %x", got, v1)
	}
	owned := []assign.TopicPartitions{{Topic: "a", Partitions: []int32{0}}, {Topic: "b", Partitions: []int32{1, 2}}}
	for _, c := range []struct {
		name       string
		b          []byte
		owned      []assign.TopicPartitions
		generation int32
	}{
		{"version 1", v1, owned, 5},
		{"version 0", v0, owned, -1},
		{"garbage", []byte("\x7f\xff\xff\xffgarbage"), nil, -1},
		{"nothing", nil, nil, -1},
	} {
		got, generation := assign.DecodeStickyUserData(c.b)
		if !reflect.DeepEqual(got, c.owned) || generation != c.generation {
			t.Errorf("%s: %v generation %d, want %v generation %d", c.name, got, generation, c.owned, c.generation)
		}
	}
}

// TestCooperativeUserData: R-A18, four bytes, big endian.
func TestCooperativeUserData(t *testing.T) {
	if got := assign.AppendCooperativeUserData(nil, 258); !bytes.Equal(got, []byte{0, 0, 1, 2}) {
		t.Errorf("%x", got)
	}
	if got := assign.AppendCooperativeUserData(nil, assign.NoGeneration); !bytes.Equal(got, []byte{255, 255, 255, 255}) {
		t.Errorf("%x", got)
	}
	if g := assign.DecodeCooperativeUserData([]byte{0, 0, 1, 2}); g != 258 {
		t.Errorf("generation %d, want 258", g)
	}
	if g := assign.DecodeCooperativeUserData([]byte{0, 1}); g != assign.NoGeneration {
		t.Errorf("generation %d of two bytes, want none", g)
	}
}

func subscriptions() *rapid.Generator[assign.Subscription] {
	name := rapid.StringMatching(`[a-c]{1,2}`)
	return rapid.Custom(func(t *rapid.T) assign.Subscription {
		s := assign.Subscription{
			Topics:     rapid.SliceOfDistinct(name, func(s string) string { return s }).Draw(t, "topics"),
			Generation: rapid.Int32().Draw(t, "generation"),
			Rack:       rapid.StringMatching(`[ab]?`).Draw(t, "rack"),
		}
		for _, topic := range rapid.SliceOfDistinct(name, func(s string) string { return s }).Draw(t, "owned") {
			s.Owned = append(s.Owned, assign.TopicPartitions{Topic: topic, Partitions: rapid.SliceOf(rapid.Int32()).Draw(t, "partitions")})
		}
		return s
	})
}

// TestDecoderWithMemoryReadsTheSame: members decoded together are as if decoded alone.
func TestDecoderWithMemoryReadsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var d assign.SubscriptionDecoder
		for _, s := range rapid.SliceOf(subscriptions()).Draw(t, "members") {
			b := s.Append(nil, 3)
			want, err := assign.DecodeSubscription(b)
			if err != nil {
				t.Fatal(err)
			}
			got, err := d.Decode(b)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("%+v, %v, want %+v", got, err, want)
			}
			if again := got.Append(nil, 3); !bytes.Equal(again, b) {
				t.Fatalf("%x encodes as %x", b, again)
			}
		}
	})
}

func FuzzDecode(f *testing.F) {
	f.Add(golden.Append(nil, 3))
	f.Add(assign.Assignment{Partitions: golden.Owned, UserData: []byte{1}}.Append(nil, 3))
	f.Add(assign.AppendStickyUserData(nil, golden.Owned, 5))
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, err := assign.DecodeSubscription(b); err == nil {
			again, err := assign.DecodeSubscription(s.Append(nil, 3))
			if err != nil || again.Generation != s.Generation || again.Rack != s.Rack {
				t.Fatalf("%+v became %+v: %v", s, again, err)
			}
		}
		if a, err := assign.DecodeAssignment(b); err == nil && len(b) > 0 {
			again, err := assign.DecodeAssignment(a.Append(nil, 3))
			if err != nil || !reflect.DeepEqual(a, again) {
				t.Fatalf("%+v became %+v: %v", a, again, err)
			}
		}
		assign.DecodeStickyUserData(b)
		assign.DecodeCooperativeUserData(b)
	})
}
