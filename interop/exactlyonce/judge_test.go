package exactlyonce

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// work is two workers that have handled three inputs of each of two partitions:
// a1 the first two of partition 0 and all of 1, after an abort; a2 the rest, and
// was killed before it said so.
func work() evidence {
	return evidence{
		inputs: map[int32][]int64{0: {0, 1, 4}, 1: {0, 2, 3}},
		outputs: []output{
			{0, 0, 0, 0, "a1", 2, 4}, {1, 0, 0, 1, "a1", 2, 4}, {1, 1, 1, 0, "a1", 2, 4}, {0, 1, 1, 1, "a1", 2, 4},
			{1, 3, 1, 2, "a1", 3, 1},
			{0, 3, 0, 2, "a2", 1, 1},
		},
		offsets: map[int32]int64{0: 5, 1: 4},
		claims: map[string]map[int]claim{
			"a1": {1: {4, aborted}, 2: {4, committed}, 3: {1, committed}, 4: {2, ""}},
			"a2": {1: {1, ""}},
		},
	}
}

func TestJudgeAcceptsWhatIsExactlyOnce(t *testing.T) {
	for name, change := range map[string]func(*evidence){
		"all":                             func(*evidence) {},
		"offset beyond an aborted record": func(e *evidence) { e.offsets[0] = 7 },
		"offset at the last input's end":  func(e *evidence) { e.inputs[1] = append(e.inputs[1], 6); e.offsets[1] = 6 },
		"nothing of an unknown transaction is there": func(e *evidence) {
			e.outputs = e.outputs[:5]
			e.offsets[0] = 4
		},
		"a count in place of a transaction": func(e *evidence) { e.outputs[5].attempt, e.outputs[5].size = noAttempt, 3 },
	} {
		e := work()
		change(&e)
		if wrongs := judge(e); len(wrongs) > 0 {
			t.Errorf("%s: %s", name, strings.Join(wrongs, "\n"))
		}
	}
}

func TestJudgeSees(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*evidence)
		says   string
	}{
		"an output twice": {func(e *evidence) {
			e.outputs = append(e.outputs, output{0, 9, 0, 2, "a3", 1, 1})
			e.claims["a3"] = map[int]claim{1: {1, committed}}
		}, "twice"},
		"an input without output":         {func(e *evidence) { e.offsets[0] = 5; e.outputs = e.outputs[:5] }, "lost"},
		"an output without its offset":    {func(e *evidence) { e.offsets[0] = 4 }, "has an output, and the group's offset is 4"},
		"no offset at all":                {func(e *evidence) { delete(e.offsets, 1) }, "has an output, and the group's offset is 0"},
		"an aborted record":               {func(e *evidence) { e.claims["a1"][3] = claim{1, aborted} }, "has aborted transaction 3"},
		"a committed record that is lost": {func(e *evidence) { e.claims["a1"][4] = claim{2, committed} }, "has committed transaction 4, and 0 of its 2"},
		"a torn transaction": {func(e *evidence) {
			e.claims["a2"][1] = claim{2, ""}
			e.outputs[5].size = 2
		}, "torn"},
		"a transaction that nobody began": {func(e *evidence) { delete(e.claims, "a2") }, "has begun no such transaction"},
		"another size than was said":      {func(e *evidence) { e.outputs[5].size = 2 }, "has begun no such transaction"},
		"a wrong order":                   {func(e *evidence) { e.outputs[0].offset, e.outputs[5].offset = 3, 0 }, "it comes after input 2"},
		"a wrong partition":               {func(e *evidence) { e.outputs[0].partition = 1; e.outputs[0].offset = 9 }, "belongs to partition 0"},
		"an input that nobody wrote":      {func(e *evidence) { e.outputs[5].number = 3 }, "nobody has written"},
		"a state that counted twice":      {func(e *evidence) { e.outputs[5].attempt, e.outputs[5].size = noAttempt, 4 }, "state counts 4"},
	} {
		e := work()
		c.change(&e)
		if wrongs := judge(e); !slices.ContainsFunc(wrongs, func(w string) bool { return strings.Contains(w, c.says) }) {
			t.Errorf("%s: not seen; it says %q", name, wrongs)
		}
	}
}

func TestOutputsAreReadAsWritten(t *testing.T) {
	got, err := parseOutput(3, 17, "1 12 a2 7 20")
	if want := (output{3, 17, 1, 12, "a2", 7, 20}); err != nil || got != want {
		t.Errorf("%v, %v", got, err)
	}
	got, err = parseOutput(3, 17, "1 12 a2 - 13")
	if want := (output{3, 17, 1, 12, "a2", noAttempt, 13}); err != nil || got != want {
		t.Errorf("%v, %v", got, err)
	}
	for _, text := range []string{"", poison, "1 12 a2 7", "x 12 a2 7 20", "1 x a2 7 20", "1 12 a2 x 20", "1 12 a2 7 -", "1 12 a2 7 20 1"} {
		if got, err := parseOutput(0, 0, text); err == nil {
			t.Errorf("%q is taken for %v", text, got)
		}
	}
}

func TestDecisionsOfMarkers(t *testing.T) {
	batches := []batch{
		{producer: 1, transactional: true, first: 0, values: []string{"a", "b"}},
		{producer: 2, transactional: true, first: 2, values: []string{"c"}},
		{producer: 9, first: 3, values: []string{"d"}},
		{producer: 1, transactional: true, first: 4, control: abortMarker},
		{producer: 1, transactional: true, first: 5, values: []string{"e"}},
		{producer: 2, transactional: true, first: 6, control: commitMarker},
		{producer: 3, transactional: true, first: 7, values: []string{"f"}},
		{producer: 1, transactional: true, first: 8, control: commitMarker},
	}
	committed, open := byMarkers(batches)
	if want := map[int64]string{2: "c", 3: "d", 5: "e"}; !maps.Equal(committed, want) || open != 1 {
		t.Errorf("by markers: %v, %d open", committed, open)
	}
	visible := withoutAborted(batches[:6], []abortedRange{{1, 0}})
	if want := map[int64]string{2: "c", 3: "d", 5: "e"}; !maps.Equal(visible, want) {
		t.Errorf("by ranges: %v", visible)
	}
}
