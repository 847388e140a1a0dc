package exactlyonce

import (
	"slices"
	"strings"
	"testing"
)

// copied is work, and what one worker downstream has made of it.
func copied() (e evidence, copies []derived, claims map[string]map[int]claim) {
	e = work()
	for _, o := range e.outputs {
		own := o
		own.worker, own.attempt, own.size = "java1", 2, len(e.outputs)
		copies = append(copies, derived{own, o})
	}
	return e, copies, map[string]map[int]claim{"java1": {1: {3, aborted}, 2: {len(e.outputs), committed}}}
}

func TestJudgeAcceptsCopiesOfWhatIsCommitted(t *testing.T) {
	if wrongs := judgeCopies(copied()); len(wrongs) > 0 {
		t.Errorf("it says %q", wrongs)
	}
}

func TestJudgeSeesOfCopies(t *testing.T) {
	for name, c := range map[string]struct {
		change func([]derived) []derived
		says   string
	}{
		"one twice": {func(all []derived) []derived {
			again := all[0]
			again.offset = 9
			return append(all, again)
		}, "twice"},
		"an output without a copy": {func(all []derived) []derived { return all[1:] }, "lost"},
		"a copy of what is aborted": {func(all []derived) []derived {
			all[0].of.attempt = 1
			return all
		}, "is made of a1 in 1 of 4"},
		"an aborted copy": {func(all []derived) []derived {
			all[0].attempt, all[0].size = 1, 3
			return all
		}, "java1 has aborted transaction 1"},
		"a wrong order": {func(all []derived) []derived {
			all[0].offset, all[5].offset = all[5].offset, all[0].offset
			return all
		}, "it comes after input 2"},
	} {
		e, copies, claims := copied()
		if wrongs := judgeCopies(e, c.change(copies), claims); !slices.ContainsFunc(wrongs, func(w string) bool { return strings.Contains(w, c.says) }) {
			t.Errorf("%s: not seen; it says %q", name, wrongs)
		}
	}
}

func TestCopiesAreReadAsWritten(t *testing.T) {
	got, err := parseCopy(3, 17, "1 12 a2 7 20 java1 4 9")
	if want := (derived{output{3, 17, 1, 12, "java1", 4, 9}, output{3, 17, 1, 12, "a2", 7, 20}}); err != nil || got != want {
		t.Errorf("%v, %v", got, err)
	}
	for _, text := range []string{"", "1 12 a2 7 20", "1 12 a2 7 20 java1 4", "1 12 a2 7 20 java1 4 9 1", "1 12 a2 7 x java1 4 9", "1 12 a2 7 20 java1 x 9"} {
		if got, err := parseCopy(0, 0, text); err == nil {
			t.Errorf("%q is taken for %v", text, got)
		}
	}
}
