package lint

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// pages are all pages of the checkout, by name from its root.
func pages(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && skipDir(d.Name()):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(name) != ".md":
			return nil
		}
		text, err := os.ReadFile(name)
		rel, _ := filepath.Rel(root, name)
		pages[filepath.ToSlash(rel)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.+?) *$`)
	fence   = regexp.MustCompile("(?ms)^```.*?^```")
	inline  = regexp.MustCompile("`[^`\n]*`")
)

// TestLinksLead: what a page links to within the checkout is there, and has the heading that is named.
func TestLinksLead(t *testing.T) {
	all := pages(t)
	for name, text := range all {
		for _, m := range link.FindAllStringSubmatch(inline.ReplaceAllString(fence.ReplaceAllString(text, ""), ""), -1) {
			if strings.Contains(m[1], ":") {
				continue // on another host
			}
			file, anchor, _ := strings.Cut(m[1], "#")
			to := name
			if file != "" {
				to = path.Join(path.Dir(name), file)
			}
			if _, err := os.Stat(filepath.Join(root, to)); err != nil {
				t.Errorf("%s links to %s, and there is no %s", name, m[1], to)
				continue
			}
			if anchor != "" && strings.HasSuffix(to, ".md") && !anchors(all[to])[anchor] {
				t.Errorf("%s links to %s, and %s has no such heading", name, m[1], to)
			}
		}
	}
}

// anchors are the names by which headings of a page are linked to: in small letters, words joined by hyphens, without punctuation.
func anchors(text string) map[string]bool {
	names := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		names[strings.Map(func(r rune) rune {
			switch {
			case r == ' ' || r == '-':
				return '-'
			case r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r):
				return unicode.ToLower(r)
			}
			return -1
		}, m[1])] = true
	}
	return names
}

var (
	run    = regexp.MustCompile("go (?:run|install|test|build) (?:[^`\n#]*? )?\\./([-\\w/]+)")
	target = regexp.MustCompile("(?m)^make ([a-z]+)$|`make ([a-z]+)`")
	moved  = regexp.MustCompile(`(?m)^cd ([-\w/]+)`)
)

// TestCommandsOfPagesAreThere: the programs that pages have the reader run are in the checkout, and the Makefile knows its targets.
func TestCommandsOfPagesAreThere(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range pages(t) {
		in := []string{root, filepath.Join(root, path.Dir(name))}
		for _, m := range moved.FindAllStringSubmatch(text, -1) {
			in = append(in, filepath.Join(root, m[1]))
		}
		for _, m := range run.FindAllStringSubmatch(text, -1) {
			if !isIn(in, m[1]) {
				t.Errorf("%s says %q, and there is no %s", name, m[0], m[1])
			}
		}
		for _, m := range target.FindAllStringSubmatch(text, -1) {
			if !strings.Contains(string(makefile), "\n"+m[1]+m[2]+":") {
				t.Errorf("%s says make %s, and the Makefile does not know it", name, m[1]+m[2])
			}
		}
	}
}

func isIn(dirs []string, name string) bool {
	for _, dir := range dirs {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

func TestAnchors(t *testing.T) {
	got := anchors("# What `it` is\n```\n# not this\n```\n## K. What Apache Kafka 4.4.0 answered\n## Exactly-once, in_ten\n")
	for _, want := range []string{"what-it-is", "k-what-apache-kafka-440-answered", "exactly-once-in_ten"} {
		if !got[want] {
			t.Errorf("no %s in %v", want, got)
		}
	}
	if len(got) != 3 {
		t.Errorf("%v", got)
	}
}
