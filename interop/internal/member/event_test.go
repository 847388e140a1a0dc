package member

import (
	"reflect"
	"testing"
)

func TestWhatMembersSayIsRead(t *testing.T) {
	for line, want := range map[string]Event{
		"1234567 assigned 1,0":        {At: 1234567, Kind: Assigned, Partitions: []int32{1, 0}},
		"5 revoked 7":                 {At: 5, Kind: Revoked, Partitions: []int32{7}},
		"5 lost 7,8":                  {At: 5, Kind: Lost, Partitions: []int32{7, 8}},
		"5 handled 3 10 12 3":         {At: 5, Kind: Handled, Partitions: []int32{3}, First: 10, Last: 12, Count: 3},
		"5 committed 3 13":            {At: 5, Kind: Committed, Partitions: []int32{3}, First: 13},
		"5 failed no common protocol": {At: 5, Kind: Failed, Why: "no common protocol"},
	} {
		if got, err := parse(line); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v", line, got, err)
		}
	}
	for _, line := range []string{"", "5", "x assigned 1", "5 assigned a", "5 handled 1 2", "5 committed 1"} {
		if e, err := parse(line); err == nil {
			t.Errorf("%q: %+v", line, e)
		}
	}
}

// TestAMemberThatMayFailFailsNothing: one that may not ends every wait.
func TestAMemberThatMayFailFailsNothing(t *testing.T) {
	o := NewObserver()
	o.MayFail("old")
	o.Add(Event{Member: "old", Kind: Failed, Why: "refused"})
	if err := o.Await(t.Context(), "it is refused", func() bool { return o.Refused("old") == "refused" }); err != nil {
		t.Error(err)
	}
	o.Add(Event{Member: "new", Kind: Failed, Why: "broken"})
	if err := o.Await(t.Context(), "anything", func() bool { return true }); err == nil {
		t.Error("nobody was told that a member failed")
	}
}
