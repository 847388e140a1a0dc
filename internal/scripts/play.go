package scripts

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// File is a script.
type File struct {
	Path, Name string // Name is without the directory and .txt
	Text       string
}

// Files are the scripts of a directory; there must be some.
func Files(t testing.TB, dir string) []File {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scripts in %s: %v", dir, err)
	}
	files := make([]File, len(paths))
	for i, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files[i] = File{path, strings.TrimSuffix(filepath.Base(path), ".txt"), string(text)}
	}
	return files
}

// Player does one command, which stands in a line, and returns what it made happen.
type Player func(line int, words []string) []string

// Play plays every script of a directory, each with a player of its own, and compares what happens with what is written;
// or, to rewrite, writes it.
func Play(t *testing.T, dir string, rewrite bool, begin func(t *testing.T) Player) {
	for _, f := range Files(t, dir) {
		t.Run(f.Name, func(t *testing.T) {
			got := replay(f.Text, begin(t))
			switch {
			case rewrite:
				if err := os.WriteFile(f.Path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			case got != f.Text:
				t.Errorf("%s: what happens is\n%s\nif that is right, run with -rewrite", f.Path, got)
			}
		})
	}
}

func replay(text string, do Player) string {
	var got strings.Builder
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if strings.HasPrefix(line, "  ") {
			continue
		}
		fmt.Fprintln(&got, line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		for _, happened := range do(i+1, strings.Fields(line)) {
			fmt.Fprintf(&got, "  %s\n", happened)
		}
	}
	return got.String()
}

// Command is a line of a script with those below it.
type Command struct {
	Line  int // from 1
	Text  string
	Words []string
	Want  []string
}

// Commands are those of a script.
func (f File) Commands() (all []Command) {
	for i, line := range strings.Split(f.Text, "\n") {
		switch words := strings.Fields(line); {
		case len(words) == 0 || line[0] == '#':
		case strings.HasPrefix(line, "  ") && len(all) > 0:
			last := &all[len(all)-1]
			last.Want = append(last.Want, strings.TrimSpace(line))
		default:
			all = append(all, Command{Line: i + 1, Text: line, Words: words})
		}
	}
	return all
}
