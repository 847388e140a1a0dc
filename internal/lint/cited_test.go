package lint

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// unshown are the rules of docs/requirements.md that no test can show, or none yet, and why.
var unshown = map[string]string{
	"C5": "why something was not shipped", "C6": "what other clients do", "C24": "a comparison", "C25": "the guide to upgrades",
	"D25": notServed, "K18": notServed,
}

const notServed = "the broker serves no groups of the new protocol (KIP-848)"

// TestRulesAreShown: each rule is cited by a test that defends it, and what is cited is a rule. Traps (T) are cited by their bare number, and
// read by people alone.
func TestRulesAreShown(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs/requirements.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows, named := rulesOf(string(page))
	shown := map[string]bool{}
	for name, text := range citing(t) {
		for _, rule := range citedIn(text) {
			if !rows[rule] && !named[rule] {
				t.Errorf("%s cites %s, which docs/requirements.md does not have: cite another, or write it down", name, rule)
			}
			shown[rule] = shown[rule] || isShowing(name)
		}
	}
	for rule, why := range unshown {
		if !rows[rule] {
			t.Errorf("docs/requirements.md has no rule %s: take it out of the list of those that no test shows (%s)", rule, why)
		}
	}
	for rule := range rows {
		switch why, excused := unshown[rule]; {
		case excused && shown[rule]:
			t.Errorf("a test shows %s: take it out of the list of those that none does (%s)", rule, why)
		case !excused && !shown[rule]:
			t.Errorf("no test cites %s of docs/requirements.md: name it at the test that defends it, or write one", rule)
		}
	}
}

// citing are the files in which rules are cited, by name.
func citing(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() != "testdata" && skipDir(d.Name()):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") && filepath.Ext(name) != ".txt" || strings.HasSuffix(name, "cited_test.go"):
			return nil
		}
		text, err := os.ReadFile(name)
		files[filepath.ToSlash(name)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// isShowing says that a file is a test: one of Go, a script, or anything of the module that is nothing else.
func isShowing(name string) bool {
	return strings.HasSuffix(name, "_test.go") || strings.Contains(name, "/testdata/") || strings.HasPrefix(name, root+"/interop/")
}

var (
	ruleRow  = regexp.MustCompile(`(?m)^\| ((?:FR-)?[A-K]\d+[^|]*?) \|`)
	ruleText = regexp.MustCompile(`(?:^|[^-\w])([A-K])(\d+)(?:–([A-K])(\d+))?`)
	rulePart = regexp.MustCompile(`^(FR-)?([A-K])(\d+)(?:–(?:[A-K])?(\d+))?$`)
	citation = regexp.MustCompile(`\b(FR-|R-)([A-K])(\d+)(?:(?:–| to )(?:FR-|R-)?[A-K]?(\d+))?`)
)

// rulesOf are the rules in the first cells of tables, such as "C24–C26" or "FR-H7, FR-H21", and those that are only named in a sentence.
func rulesOf(page string) (rows, named map[string]bool) {
	rows, named = map[string]bool{}, map[string]bool{}
	for _, m := range ruleRow.FindAllStringSubmatch(page, -1) {
		for _, part := range strings.Split(m[1], ", ") {
			if p := rulePart.FindStringSubmatch(part); p != nil {
				enter(rows, p[1]+p[2], p[3], p[4])
			}
		}
	}
	for _, m := range ruleText.FindAllStringSubmatch(page, -1) {
		enter(named, m[1], m[2], m[4])
	}
	return rows, named
}

// citedIn are the rules that a text cites: R-C12, FR-C1, R-C13 to R-C15.
func citedIn(text string) []string {
	rules := map[string]bool{}
	for _, m := range citation.FindAllStringSubmatch(text, -1) {
		enter(rules, strings.TrimPrefix(m[1], "R-")+m[2], m[3], m[4])
	}
	var list []string
	for rule := range rules {
		list = append(list, rule)
	}
	return list
}

// enter notes the rules of a letter from one number to another; without the other it is one.
func enter(rules map[string]bool, letter, from, to string) {
	first, _ := strconv.Atoi(from)
	last, _ := strconv.Atoi(to)
	for i := first; i <= max(first, last); i++ {
		rules[letter+strconv.Itoa(i)] = true
	}
}

func TestCitationsAreRead(t *testing.T) {
	rows, named := rulesOf("F2–F3: more.\n| rule | what |\n| C24–C25 | a |\n| FR-H7, FR-H21 | b, as D4 |\n| M1 | c |\n| T29–T33 | d |\n")
	for _, rule := range []string{"C24", "C25", "FR-H7", "FR-H21"} {
		if !rows[rule] {
			t.Errorf("%s has a row", rule)
		}
	}
	if len(rows) != 4 || !named["F3"] || !named["D4"] {
		t.Errorf("rows %v, named %v", rows, named)
	}
	cited := map[string]bool{}
	for _, rule := range citedIn("R-C13 to R-C15, FR-H4 and HR-A1 (R-B1–B2)") {
		cited[rule] = true
	}
	if len(cited) != 6 || !cited["C14"] || !cited["FR-H4"] || !cited["B2"] {
		t.Errorf("cited %v", cited)
	}
}
