package groups

import (
	"strings"
	"testing"
)

func at(t int64, member string, k kind, p int32, numbers ...int64) event {
	e := event{at: t, member: member, kind: k, partitions: []int32{p}}
	if len(numbers) > 0 {
		e.first, e.last = numbers[0], numbers[len(numbers)-1]
		e.count = e.last - e.first + 1
	}
	return e
}

// TestTheObserverSeesWhatMustNotBe: a good history passes, and each fault of
// one is told.
func TestTheObserverSeesWhatMustNotBe(t *testing.T) {
	good := []event{
		at(1, "a", assigned, 0), at(2, "a", handled, 0, 0, 9), at(3, "", committed, 0, 10), at(4, "a", handled, 0, 10, 11),
		at(5, "a", revoked, 0), at(6, "b", assigned, 0), at(7, "b", handled, 0, 10, 14), at(8, "", committed, 0, 15),
		at(9, "b", ended, 0), at(10, "c", assigned, 0), at(11, "c", handled, 0, 15, 19),
	}
	replaced := func(i int, e event) []event {
		h := append([]event{}, good...)
		h[i] = e
		return h
	}
	short := at(7, "b", handled, 0, 10, 14)
	short.count--
	for _, c := range []struct {
		name, want string
		history    []event
		end        int64
	}{
		{"good", "", good, 20},
		{"out of order", "", append(append([]event{}, good[5:]...), good[:5]...), 20},
		{"nobody handles the last", "handled up to 20 of 21", good, 21},
		{"two owners", "still owned by a", replaced(4, at(7, "a", revoked, 0)), 20},
		{"handled without a right", `owned by "a"`, replaced(1, at(2, "b", handled, 0, 0, 9)), 20},
		{"lost while the broker is away", "", append(replaced(4, at(5, "a", lost, 0)), event{at: 4, kind: down}), 20},
		{"lost", "thrown out", replaced(4, at(5, "a", lost, 0)), 20},
		{"below the commit", "below the committed offset 10", replaced(6, at(7, "b", handled, 0, 9, 14)), 20},
		{"skipped at the beginning", "nobody has handled 12", replaced(6, at(7, "b", handled, 0, 13, 14)), 20},
		{"skipped in the middle", "goes on at 11, not at 10", replaced(3, at(4, "a", handled, 0, 11, 11)), 20},
		{"skipped within", "4 records from 10 to 14", replaced(6, short), 20},
		{"offset back", "went back from 10", replaced(7, at(8, "", committed, 0, 9)), 20},
		{"offset beyond", "which nobody has handled", replaced(2, at(3, "", committed, 0, 11)), 20},
	} {
		wrongs := strings.Join(check(c.history, map[int32]int64{0: c.end}), "\n")
		if c.want == "" && wrongs != "" || !strings.Contains(wrongs, c.want) {
			t.Errorf("%s: %q, want %q", c.name, wrongs, c.want)
		}
	}
}
