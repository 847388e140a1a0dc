package screen

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/skeinstream/skein/cli/internal/demo/story"
	"github.com/skeinstream/skein/internal/ownership"
)

// With -rewrite, what is drawn becomes what is expected.
var rewrite = flag.Bool("rewrite", false, "write testdata anew")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is drawn otherwise (-rewrite, if that is meant):\n%s", name, got)
	}
}

// script is the history of a group in which an old member has been killed, and a new one has just come.
func script(t *testing.T) (history []story.Event) {
	t.Helper()
	s := story.NewState(story.Script(story.Cluster{Admits: true, Restart: true}))
	at := time.Unix(1_700_000_000, 0)
	add := func(slot int, member string, e story.Event) {
		at = at.Add(50 * time.Millisecond)
		e.At, e.Member, e.Slot = at, member, slot
		history = append(history, e)
	}
	of := func(kind ownership.Kind, partitions ...int32) story.Event {
		return story.Event{Event: ownership.Event{Kind: kind, Partitions: partitions}}
	}
	add(0, "", s.Opening(1))
	add(0, "", story.Event{Event: ownership.Event{Kind: story.Stepped}, Text: "member 3 starts with [cooperative-sticky, range]"})
	for slot, name := range map[int]string{1: "new-1"} {
		join(add, slot, name, story.New, true)
	}
	join(add, 2, "old-2", story.Old, false)
	join(add, 3, "old-3", story.Old, false)
	names := [...]string{"new-1", "old-2", "old-3"}
	for id := range int32(story.Partitions) {
		slot := int(id)/4 + 1
		add(slot, names[slot-1], of(ownership.Assigned, id))
		handled := of(ownership.Handled, id)
		handled.Last, handled.Count = 41, 42
		add(slot, names[slot-1], handled)
	}
	add(3, "old-3", of(story.Killed))
	add(3, "old-3", of(ownership.Ended))
	start := of(story.Started)
	start.Code = story.New
	add(3, "new-3", start)
	return history
}

func join(add func(int, string, story.Event), slot int, name string, code story.Code, leader bool) {
	add(slot, name, story.Event{Event: ownership.Event{Kind: story.Started}, Code: code})
	e := story.Event{Event: ownership.Event{Kind: ownership.Joined, Generation: 3, Assignor: "range", Leader: leader}}
	add(slot, name, e)
	e.Kind = story.Completed
	add(slot, name, e)
}

func drawn(t *testing.T) *story.State {
	s := story.NewState(story.Script(story.Cluster{Admits: true, Restart: true}))
	for i, e := range script(t) {
		s.See(e)
		if i%2 == 0 {
			s.Tick(e.At)
		}
	}
	return s
}

func TestFrame(t *testing.T) {
	golden(t, "frame.txt", strings.Join(Frame(drawn(t), "a broker of its own", Usual(), Style{}), "\n")+"\n")
}

var colours = regexp.MustCompile("\x1b\\[[0-9]*m")

// Colours add nothing but colours, and no line is wider or frame higher than the terminal.
func TestFramesFit(t *testing.T) {
	s := drawn(t)
	for _, z := range []Size{{72, 21}, {80, 24}, {100, 30}, {250, 60}, {40, 10}, {1, 1}} {
		if z.Fits() != (z.Columns >= 72) {
			t.Errorf("%v fits: %v", z, z.Fits())
		}
		plain := Frame(s, strings.Repeat("kafka.example.com:9092,", 9), z, Style{})
		coloured := Frame(s, strings.Repeat("kafka.example.com:9092,", 9), z, Style{Colour: true})
		if len(plain) > z.Rows {
			t.Errorf("%v: %d lines", z, len(plain))
		}
		for i, line := range plain {
			if width(line) > z.Columns {
				t.Errorf("%v: %d characters in %q", z, width(line), line)
			}
			if got := colours.ReplaceAllString(coloured[i], ""); got != line || strings.Contains(line, "\x1b") {
				t.Errorf("%v: %q in colours is %q", z, line, got)
			}
		}
	}
	if (Size{71, 30}).Fits() || (Size{80, 20}).Fits() {
		t.Error("frames are said to fit where they do not")
	}
}

// Before the first event, and while nobody has a generation, there is something to see, too.
func TestTheFirstFrame(t *testing.T) {
	s := story.NewState(story.Script(story.Cluster{}))
	if got := strings.Join(Frame(s, "x", Usual(), Style{}), "\n"); !strings.Contains(got, "no generation yet") || !strings.Contains(got, "nobody") {
		t.Error(got)
	}
}

func TestVerdictText(t *testing.T) {
	s := drawn(t)
	var good, bad strings.Builder
	Verdict(&good, s.Verdict(), Style{})
	golden(t, "verdict.txt", good.String())
	s.Ends(map[int32]int64{3: 50})
	Verdict(&bad, s.Verdict(), Style{})
	if text := bad.String(); !strings.Contains(text, "WRONG: partition 3 was handled up to 42 of 50") || !strings.Contains(text, "VERDICT: BAD") || !strings.Contains(text, "Lost: 8.") {
		t.Error(text)
	}
	for line := range strings.Lines(good.String() + bad.String()) {
		if width(line) > 81 {
			t.Errorf("too wide: %q", line)
		}
	}
}

func TestLinesForWhoHasNoTerminal(t *testing.T) {
	var b strings.Builder
	history := script(t)
	for _, e := range history {
		if line := Plain(e, history[0].At); line != "" {
			fmt.Fprintln(&b, line)
		}
	}
	golden(t, "lines.txt", b.String())
}

// Each event is a line of JSON, and the verdict the last; programs read these names.
func TestJSONLines(t *testing.T) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	commit := story.Event{Event: ownership.Event{Kind: ownership.Committed, Member: "new-1", Partitions: []int32{2}}}
	switched := story.Event{Event: ownership.Event{Kind: story.Switched, Member: "new-1"}, Cooperative: true}
	for _, e := range append(script(t)[:6], commit, switched) {
		if err := enc.Encode(JSON(e)); err != nil {
			t.Fatal(err)
		}
	}
	golden(t, "lines.json", b.String())
	verdict, err := json.Marshal(JSONVerdict(drawn(t).Verdict()))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"event":"verdict"`, `"good":true`, `"duplicates":0`, `"overlaps":0`, `"lost":0`, `"longest_stop_ns":`, `"phases":[`, `"wrongs":[]`} {
		if !strings.Contains(string(verdict), want) {
			t.Errorf("no %s in %s", want, verdict)
		}
	}
}
