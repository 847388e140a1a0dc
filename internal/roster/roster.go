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
	// Instances are the instance ids of the static members of this generation, whether they publish something or not.
	Instances []string
}

// Of takes together what the members of a generation say; a zero Notice is that of one who says nothing.
func Of(generation int32, members []Notice) Roster {
	present, missing, again := count(members)
	return Roster{Generation: generation, Present: present, Missing: sorted(append(missing, again...))}
}

// count says who is present, who is missing for the first time, and who the leader before has missed already. It may have died before it could do
// what it had to about that. No list has anything of another.
func count(members []Notice) (present, missing, again [][]byte) {
	var known, missed [][]byte
	for _, n := range members {
		if len(n.Own) > 0 {
			present = append(present, n.Own)
		}
		known, missed = append(known, n.Known...), append(missed, n.Missed...)
	}
	present = sorted(present)
	missing = without(sorted(known), present)
	return present, missing, without(without(sorted(missed), present), missing)
}

// Deal says what each of the members is told: what the next few publish, in a circle, and some of those whom this leader is the first to miss,
// so that the next one does, too. Those who publish nothing are told nothing: nil. Those who do are told something even if there is nobody else, so
// that they forget what they knew.
func Deal(members []Notice) []*Notice {
	told := make([]*Notice, len(members))
	all, missing, _ := count(members)
	for i, n := range members {
		if len(n.Own) == 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(all, n.Own, bytes.Compare)
		told[i] = &Notice{Known: next(all, at+1, len(all)-1), Missed: next(missing, at, len(missing))}
	}
	return told
}

// next are the next few of a circle, of n at most.
func next(circle [][]byte, at, n int) (few [][]byte) {
	for k := range min(Holders, n) {
		few = append(few, circle[(at+k)%len(circle)])
	}
	return few
}

func sorted(list [][]byte) [][]byte {
	list = slices.Clone(list)
	slices.SortFunc(list, bytes.Compare)
	return slices.CompactFunc(list, bytes.Equal)
}

// without is what a list has and another, which is in order, has not.
func without(list, other [][]byte) [][]byte {
	return slices.DeleteFunc(list, func(b []byte) bool { return contains(other, b) })
}

func contains(list [][]byte, b []byte) bool {
	_, found := slices.BinarySearchFunc(list, b, bytes.Compare)
	return found
}
