package rebalance

import (
	"bytes"
	"encoding/xml"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/skeinstream/skein/assign"
)

func orders() Group {
	return Group{Name: "orders", Topics: []Topic{{Name: "t", Partitions: 6}}, Members: []Member{
		{ID: "app-1", Topics: []string{"t"}, Owned: map[string][]int32{"t": {0, 1, 2}}, Generation: 4},
		{ID: "app-2", Topics: []string{"t"}, Owned: map[string][]int32{"t": {3, 4, 5}}, Generation: 4},
	}}
}

func quiet(string) {}

// TestLongWorkTellsItsStages: planning, proving, comparing.
func TestLongWorkTellsItsStages(t *testing.T) {
	var stages []string
	if _, err := Play(orders(), Change{Join: []string{"app-3"}}, assign.Sticky{}, func(doing string) { stages = append(stages, doing) }); err != nil {
		t.Fatal(err)
	}
	const size = "3 members and 6 partitions"
	if want := []string{"planning for " + size, "proving the plan for " + size, "comparing the plan for " + size}; !reflect.DeepEqual(stages, want) {
		t.Errorf("%q, want %q", stages, want)
	}
}

func TestFilesAreReadAsTheyAreWritten(t *testing.T) {
	var b bytes.Buffer
	if err := orders().Write(&b); err != nil {
		t.Fatal(err)
	}
	got, err := Read(&b)
	if err != nil || !reflect.DeepEqual(got, orders()) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := Read(strings.NewReader(`{"memebers": []}`)); err == nil || !strings.Contains(err.Error(), "memebers") {
		t.Errorf("a misspelt field: %v", err)
	}
}

func TestAJoinMovesWhatItMustInTwoRounds(t *testing.T) {
	out, err := Play(orders(), Change{Join: []string{"app-3"}}, assign.CooperativeSticky{}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	if out.Stay != 4 || out.Move != 2 || out.Free != 0 || out.Rounds != 2 || !out.Proven {
		t.Errorf("%+v", out)
	}
	want := []MemberOutcome{{"app-1", 3, 2, 1, 0, false, false}, {"app-2", 3, 2, 1, 0, false, false}, {"app-3", 0, 2, 0, 2, false, true}}
	if !reflect.DeepEqual(out.Members, want) {
		t.Errorf("%+v, want %+v", out.Members, want)
	}
}

func TestALeaveFreesItsPartitions(t *testing.T) {
	out, err := Play(orders(), Change{Leave: []string{"app-2"}}, assign.CooperativeSticky{}, quiet)
	if err != nil || out.Stay != 3 || out.Move != 0 || out.Free != 3 || out.Rounds != 1 {
		t.Errorf("%+v, %v", out, err)
	}
	if m := out.Members[1]; !m.Left || m.Loses != 3 {
		t.Errorf("%+v", m)
	}
}

func TestAnotherAssignorIsHeldToTheSameMeasure(t *testing.T) {
	out, err := Play(orders(), Change{Join: []string{"app-0"}}, assign.RoundRobin{}, quiet)
	if err != nil || out.Proven || out.Finding == "" {
		t.Errorf("%+v, %v: roundrobin moves more than it must", out, err)
	}
	out, err = Play(orders(), Change{}, assign.Weighted{}, quiet)
	if err != nil || out.Gap == nil || out.Gap.Bound != 3 {
		t.Errorf("%+v, %v", out, err)
	}
}

// TestProofsAreOfWhatWasAsked: loads that slack allows, and moves that racks ask
// for, are no faults.
func TestProofsAreOfWhatWasAsked(t *testing.T) {
	g := orders()
	g.Members[0].Owned["t"], g.Members[1].Owned["t"] = []int32{0, 1, 2, 3}, []int32{4, 5}
	g.Members[0].Rack, g.Members[1].Rack = "r1", "r2"
	g.Topics[0].Racks = [][]string{{"r2"}, {"r1"}, {"r1"}, {"r1"}, {"r2"}, {"r2"}}
	for want, o := range map[string]assign.Options{
		"moves fewer":             {},
		"within 1 of the fairest": {Slack: 1, Racks: assign.RacksIgnored},
		"fewer in a wrong rack":   {Racks: assign.RacksBeforeMoves},
	} {
		out, err := Play(g, Change{}, assign.Sticky{Options: o}, quiet)
		if err != nil || !out.Proven || !strings.Contains(out.Proof, want) || o.Slack == 1 && out.Move != 0 {
			t.Errorf("%+v: %+v, %v", o, out, err)
		}
	}
}

func TestChangesThatCannotBe(t *testing.T) {
	for _, c := range []Change{
		{Leave: []string{"app-9"}}, {Leave: []string{"app-"}}, {Join: []string{"app-1"}}, {Subscribe: []string{"app-1"}},
		{Subscribe: []string{"x=t"}}, {Partitions: []string{"t"}}, {Partitions: []string{"t=-1"}},
	} {
		if _, err := c.Apply(orders()); err == nil {
			t.Errorf("%+v was applied", c)
		}
	}
	g := orders()
	if _, err := (Change{Leave: []string{"app-1"}, Partitions: []string{"t=9", "u=1"}, Subscribe: []string{"app-2=t,u"}}).Apply(g); err != nil {
		t.Error(err)
	}
	if !reflect.DeepEqual(g, orders()) {
		t.Errorf("the group itself was changed: %+v", g)
	}
}

func TestPicturesAreWellFormed(t *testing.T) {
	g := orders()
	g.Members[0].ID = "<&>" + strings.Repeat("x", 100)
	out, err := Play(g, Change{Join: []string{"new"}, Leave: []string{"app-2"}}, assign.Sticky{}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	var svg, page bytes.Buffer
	if err := out.SVG(&svg); err != nil {
		t.Fatal(err)
	}
	d := xml.NewDecoder(&svg)
	for {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if err := out.HTML(&page); err != nil || !strings.Contains(page.String(), "</svg>") {
		t.Errorf("%v", err)
	}
}
