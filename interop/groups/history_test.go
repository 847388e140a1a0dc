package groups

import (
	"strings"
	"testing"

	"github.com/skeinstream/skein/interop/internal/member"
)

func at(t int64, who string, k member.Kind, p int32, numbers ...int64) member.Event {
	e := member.Event{At: t, Member: who, Kind: k, Partitions: []int32{p}}
	if len(numbers) > 0 {
		e.First, e.Last = numbers[0], numbers[len(numbers)-1]
		e.Count = e.Last - e.First + 1
	}
	return e
}

// TestTheObserverSeesWhatMustNotBe: a good history passes, and each fault of
// one is told.
func TestTheObserverSeesWhatMustNotBe(t *testing.T) {
	good := []member.Event{
		at(1, "a", member.Assigned, 0), at(2, "a", member.Handled, 0, 0, 9), at(3, "", member.Committed, 0, 10), at(4, "a", member.Handled, 0, 10, 11),
		at(5, "a", member.Revoked, 0), at(6, "b", member.Assigned, 0), at(7, "b", member.Handled, 0, 10, 14), at(8, "", member.Committed, 0, 15),
		at(9, "b", member.Ended, 0), at(10, "c", member.Assigned, 0), at(11, "c", member.Handled, 0, 15, 19),
	}
	replaced := func(i int, e member.Event) []member.Event {
		h := append([]member.Event{}, good...)
		h[i] = e
		return h
	}
	short := at(7, "b", member.Handled, 0, 10, 14)
	short.Count--
	for _, c := range []struct {
		name, want string
		history    []member.Event
		end        int64
	}{
		{"good", "", good, 20},
		{"out of order", "", append(append([]member.Event{}, good[5:]...), good[:5]...), 20},
		{"nobody handles the last", "handled up to 20 of 21", good, 21},
		{"two owners", "still owned by a", replaced(4, at(7, "a", member.Revoked, 0)), 20},
		{"handled without a right", `owned by "a"`, replaced(1, at(2, "b", member.Handled, 0, 0, 9)), 20},
		{"lost while the broker is away", "", append(replaced(4, at(5, "a", member.Lost, 0)), member.Event{At: 4, Kind: member.Down}), 20},
		{"lost", "thrown out", replaced(4, at(5, "a", member.Lost, 0)), 20},
		{"lost while it leaves", "", append(replaced(4, at(5, "a", member.Lost, 0)), member.Event{At: 4, Member: "a", Kind: member.Leaving}), 20},
		{"lost while another leaves", "thrown out", append(replaced(4, at(5, "a", member.Lost, 0)), member.Event{At: 4, Member: "b", Kind: member.Leaving}), 20},
		{"below the commit", "below the committed offset 10", replaced(6, at(7, "b", member.Handled, 0, 9, 14)), 20},
		{"skipped at the beginning", "nobody has handled 12", replaced(6, at(7, "b", member.Handled, 0, 13, 14)), 20},
		{"skipped in the middle", "goes on at 11, not at 10", replaced(3, at(4, "a", member.Handled, 0, 11, 11)), 20},
		{"skipped within", "4 records from 10 to 14", replaced(6, short), 20},
		{"offset back", "went back from 10", replaced(7, at(8, "", member.Committed, 0, 9)), 20},
		{"offset beyond", "which nobody has handled", replaced(2, at(3, "", member.Committed, 0, 11)), 20},
	} {
		wrongs := strings.Join(check(c.history, map[int32]int64{0: c.end}), "\n")
		if c.want == "" && wrongs != "" || !strings.Contains(wrongs, c.want) {
			t.Errorf("%s: %q, want %q", c.name, wrongs, c.want)
		}
	}
}

// Only what was lost by who had been asked to leave, and is nobody's since, is abandoned.
func TestAbandoned(t *testing.T) {
	leaves := func(who string) member.Event { return member.Event{At: 2, Member: who, Kind: member.Leaving} }
	for _, c := range []struct {
		name    string
		history []member.Event
		want    bool
	}{
		{"lost while it leaves", []member.Event{at(1, "a", member.Assigned, 0), leaves("a"), at(3, "a", member.Lost, 0)}, true},
		{"revoked while it leaves", []member.Event{at(1, "a", member.Assigned, 0), leaves("a"), at(3, "a", member.Revoked, 0)}, false},
		{"lost while another leaves", []member.Event{at(1, "a", member.Assigned, 0), leaves("b"), at(3, "a", member.Lost, 0)}, false},
		{"another has it", []member.Event{leaves("a"), at(3, "a", member.Lost, 0), at(4, "b", member.Assigned, 0)}, false},
	} {
		if is := abandoned(c.history)[0]; is != c.want {
			t.Errorf("%s: abandoned: %t", c.name, is)
		}
	}
}
