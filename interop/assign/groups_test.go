package assign

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/skeinstream/skein/assign"
)

// randomGroup is a small group: few members and topics make all the ties, gaps
// and leftovers that large ones have.
func randomGroup(r *rand.Rand) assign.Input {
	in := assign.Input{Topics: randomTopics(r)}
	static, racks := r.IntN(3), r.IntN(2) == 0
	for i := range 1 + r.IntN(7) {
		m := assign.Member{ID: memberID(r, i)}
		if static == 2 || static == 1 && r.IntN(2) == 0 {
			m.InstanceID = fmt.Sprintf("i%d", r.IntN(2)*10+i)
		}
		if racks && r.IntN(4) > 0 {
			m.Rack = randomRack(r)
		}
		m.Generation = assign.NoGeneration
		in.Members = append(in.Members, m)
	}
	subscribe(r, in)
	return in
}

func randomTopics(r *rand.Rand) []assign.Topic {
	topics := make([]assign.Topic, 1+r.IntN(5))
	same, racks := int32(r.IntN(7)), r.IntN(2) == 0
	for t := range topics {
		topics[t] = assign.Topic{Name: fmt.Sprintf("t%d", t), Partitions: int32(r.IntN(9))}
		if r.IntN(2) == 0 {
			topics[t].Partitions = same
		}
		for p := range int(topics[t].Partitions) {
			if racks && r.IntN(8) > 0 {
				topics[t].Racks = append(slices.Grow(topics[t].Racks, p), randomReplicas(r))
			} else if racks {
				topics[t].Racks = append(topics[t].Racks, nil)
			}
		}
	}
	return topics
}

func randomRack(r *rand.Rand) string { return string(rune('a' + r.IntN(4))) }

func randomReplicas(r *rand.Rand) []string {
	var racks []string
	for range 1 + r.IntN(3) {
		racks = append(racks, randomRack(r))
	}
	return racks
}

// memberID is sometimes of letters that Java orders otherwise than UTF-8 does.
func memberID(r *rand.Rand, i int) string {
	prefix := []string{"m", "m", "m", "\uff5e", "\U0001f600", "é"}[r.IntN(6)]
	return fmt.Sprintf("%s%d", prefix, r.IntN(2)*10+i)
}

func subscribe(r *rand.Rand, in assign.Input) {
	equal := r.IntN(3) == 0
	for i := range in.Members {
		for _, topic := range in.Topics {
			if equal || r.IntN(3) > 0 {
				in.Members[i].Topics = append(in.Members[i].Topics, topic.Name)
			}
		}
		if r.IntN(6) == 0 {
			in.Members[i].Topics = append(in.Members[i].Topics, "unknown")
		}
	}
}

// describe tells the Java program of a group.
func (s *script) describe(in assign.Input) {
	for _, t := range in.Topics {
		var racks []string
		for _, r := range t.Racks {
			racks = append(racks, orDash(strings.Join(r, ",")))
		}
		s.say("topic %x %d %s", t.Name, t.Partitions, orDash(strings.Join(racks, ";")))
	}
	for _, m := range in.Members {
		s.say("member %x %s %x", m.ID, orDash(hex.EncodeToString([]byte(m.InstanceID))), m.Append(nil, assign.HighestVersion))
	}
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func utf16Of(s string) []uint16 { return utf16.Encode([]rune(s)) }
