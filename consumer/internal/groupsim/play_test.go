package groupsim

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A script in testdata says in its comments what comes of it: "# shows ROW" for a row of R-C.3, "# breaks KIND" for a promise
// that is broken, by members who are made to. Whatever else is broken is an error.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < len(Rows) {
		t.Fatalf("%d scripts, %v", len(files), err)
	}
	shown, ran := map[string]int{}, 0
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s, err := Parse(string(text))
			if err != nil {
				t.Fatal(err)
			}
			r := run(s, seams{on: true}, true)
			kinds := broken(r)
			if wanted := said(string(text), "breaks"); !slices.Equal(kinds, wanted) {
				t.Errorf("it breaks %v, and is said to break %v: %v\n%s", kinds, wanted, r.Violations, r.Trace)
			}
			for _, row := range said(string(text), "shows") {
				if r.Rows[row] == 0 {
					t.Errorf("it does not come through %s:\n%s", row, r.Trace)
				}
			}
			r.Count(shown)
			ran++
		})
	}
	if missed := Missed(shown); len(missed) > 0 && ran == len(files) {
		t.Errorf("no script shows %v", missed)
	}
}

// broken are the kinds of what a run broke.
func broken(r *Result) (kinds []string) {
	for _, v := range r.Violations {
		kinds = append(kinds, v.Kind)
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// said is what follows a word in the comments, each on a line of its own.
func said(text, word string) (all []string) {
	for _, line := range strings.Split(text, "\n") {
		if rest, ok := strings.CutPrefix(line, "# "+word+" "); ok {
			all = append(all, rest)
		}
	}
	slices.Sort(all)
	return all
}

// What cannot be done is refused with the line.
func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"broker\n":             `line 1, "broker": no such setting`,
		"\n1s jump a\n":        `line 2, "1s jump a": "jump a" cannot be done so`,
		"1s freeze a\n":        `cannot be done so`,
		"1s start a X[range]":  `"X[range]" is no member`,
		"1s start a D[ranges]": `there is no assignor "ranges"`,
		"seed x":               `invalid syntax`,
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
