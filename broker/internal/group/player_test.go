package group

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write what happens into the files of testdata instead of comparing")

// player does one command of a script, which stands in a line, and returns what it made happen, each line indented.
type player func(line int, words []string) string

// playScripts plays every script of a directory with a player of its own. A script is commands, each followed by what it makes
// happen, indented. A line that begins with # is for the reader.
func playScripts(t *testing.T, dir string, begin func(t *testing.T) player) {
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts in %s: %v", dir, err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) { begin(t).script(t, name) })
	}
}

func (p player) script(t *testing.T, name string) {
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for i, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		if strings.HasPrefix(line, "  ") {
			continue
		}
		fmt.Fprintln(&got, line)
		if line != "" && !strings.HasPrefix(line, "#") {
			got.WriteString(p(i+1, strings.Fields(line)))
		}
	}
	switch {
	case *rewrite:
		if err := os.WriteFile(name, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	case got.String() != string(text):
		t.Errorf("%s: what happens is\n%s\nif that is right, run with -rewrite", name, got.String())
	}
}
