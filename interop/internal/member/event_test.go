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
		if got, err := parse(line); err != nil || !reflect.DeepEqual(got, []Event{want}) {
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

// TestTheCommandIsRead: records have no time of their own, and were handled after what was said before.
func TestTheCommandIsRead(t *testing.T) {
	r := new(jsonReader)
	var got []Event
	for _, line := range []string{
		`{"event":"joined","time":"1970-01-01T00:00:01Z","generation":1}`,
		`{"event":"assigned","time":"1970-01-01T00:00:02Z","partitions":{"t":[3]}}`,
		`{"topic":"t","partition":3,"offset":7,"timestamp":5,"key":null,"value":"x"}`,
		`{"event":"committed","time":"1970-01-01T00:00:02.5Z","offsets":[{"topic":"t","partition":3,"offset":8}]}`,
		`{"event":"committed","time":"1970-01-01T00:00:02.6Z","offsets":[{"topic":"t","partition":3,"offset":9}],"error":"refused"}`,
		`{"event":"revoked","time":"1970-01-01T00:00:03Z","partitions":{"t":[3]}}`,
	} {
		events, err := r.read(line)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, events...)
	}
	three := []int32{3}
	want := []Event{
		{At: 2_000_000, Kind: Assigned, Partitions: three}, {At: 2_000_000, Kind: Handled, Partitions: three, First: 7, Last: 7, Count: 1},
		{At: 2_500_000, Kind: Committed, Partitions: three, First: 8}, {At: 3_000_000, Kind: Revoked, Partitions: three},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v\nwant %v", got, want)
	}
	if _, err := r.read("skein: broken"); err == nil {
		t.Error("it reads what is no JSON")
	}
}
