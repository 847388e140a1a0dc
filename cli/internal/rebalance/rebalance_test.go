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
	out, err := Play(orders(), Change{Join: []string{"app-3"}}, assign.CooperativeSticky{})
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
	out, err := Play(orders(), Change{Leave: []string{"app-2"}}, assign.CooperativeSticky{})
	if err != nil || out.Stay != 3 || out.Move != 0 || out.Free != 3 || out.Rounds != 1 {
		t.Errorf("%+v, %v", out, err)
	}
	if m := out.Members[1]; !m.Left || m.Loses != 3 {
		t.Errorf("%+v", m)
	}
}

func TestAnotherAssignorIsHeldToTheSameMeasure(t *testing.T) {
	out, err := Play(orders(), Change{Join: []string{"app-0"}}, assign.RoundRobin{})
	if err != nil || out.Proven || out.Finding == "" {
		t.Errorf("%+v, %v: roundrobin moves more than it must", out, err)
	}
	out, err = Play(orders(), Change{}, assign.Weighted{})
	if err != nil || out.Gap == nil || out.Gap.Bound != 3 {
		t.Errorf("%+v, %v", out, err)
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
	out, err := Play(g, Change{Join: []string{"new"}, Leave: []string{"app-2"}}, assign.Sticky{})
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
