package eossim

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Scripts of testdata are runs in which something was wrong once, each with a comment that says what. Nothing is now.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d scripts, %v", len(files), err)
	}
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
			if r := Run(s, true); len(r.Violations) > 0 || r.Effects == 0 {
				t.Errorf("%v, %d effects\n%s", r.Violations, r.Effects, r.Trace)
			}
		})
	}
}

// What cannot be done is refused with the line.
func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"broker\n":          `line 1, "broker": no such setting`,
		"\n1s jump a\n":     `line 2, "1s jump a": "jump a" cannot be done so`,
		"1s freeze a\n":     `cannot be done so`,
		"1s":                `"" cannot be done so`,
		"1s start a ranges": `there is no assignor "ranges"`,
		"seed x":            `invalid syntax`,
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// kinds are those of what a run broke.
func kinds(r *Result) (list []string) {
	for _, v := range r.Violations {
		list = append(list, v.Kind)
	}
	slices.Sort(list)
	return slices.Compact(list)
}
