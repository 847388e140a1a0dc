package roster

import (
	"bytes"
	"slices"
)

// Holders is how many others are told of each member: in a group of up to one more, everybody. It bounds what a group of any size has to keep,
// in the requests of its members and in the broker's records of it, to as many times what one publishes; telling all to all would grow with the
// square.
const Holders = 8

// Carries says that members may write notices under an assignor. It takes those whose user data are known to be read by their beginning, or
// not at all, in every client that has an assignor of that name. "sticky" is not among them: Sarama's leaders fail on what they do not
// expect behind it. Names that are not Kafka's are those of package assign, which reads the beginning.
func Carries(assignor string) bool {
	switch assignor {
	case "cooperative-sticky", "range", "roundrobin", "fair", "fair-optimal", "weighted":
		return true
	}
	return false
}

// Roster is what members publish, as the leader of a generation sees it. Lists are in order, and nothing is in them twice.
type Roster struct {
	Generation int32
	// Present is what members of this generation publish.
	Present [][]byte
	// Missing is what some of them know that others have published, and nobody does now: that of members which were in an earlier generation,
	// and are not in this one.
	Missing [][]byte
}

// Of takes together what the members of a generation say; a zero Notice is that of one who says nothing.
func Of(generation int32, members []Notice) Roster {
	r := Roster{Generation: generation}
	var known [][]byte
	for _, n := range members {
		if len(n.Own) > 0 {
			r.Present = append(r.Present, n.Own)
		}
		known = append(known, n.Known...)
	}
	r.Present = sorted(r.Present)
	for _, k := range sorted(known) {
		if !contains(r.Present, k) {
			r.Missing = append(r.Missing, k)
		}
	}
	return r
}

// Deal says what each of the members is told: what the next few publish, in a circle. Those who publish nothing are told nothing: nil. Those
// who do are told something even if there is nobody else, so that they forget what they knew.
func Deal(members []Notice) []*Notice {
	told := make([]*Notice, len(members))
	all := Of(0, members).Present
	for i, n := range members {
		if len(n.Own) == 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(all, n.Own, bytes.Compare)
		told[i] = new(Notice)
		for k := range min(Holders, len(all)-1) {
			told[i].Known = append(told[i].Known, all[(at+1+k)%len(all)])
		}
	}
	return told
}

func sorted(list [][]byte) [][]byte {
	list = slices.Clone(list)
	slices.SortFunc(list, bytes.Compare)
	return slices.CompactFunc(list, bytes.Equal)
}

func contains(list [][]byte, b []byte) bool {
	_, found := slices.BinarySearchFunc(list, b, bytes.Compare)
	return found
}
