package lint

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestOnlyPureRoomsDoWithoutTheRaceDetector: what the Makefile's PURE names is tested without it.
func TestOnlyPureRoomsDoWithoutTheRaceDetector(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^PURE\s*:=(.*)$`).FindSubmatch(text)
	if line == nil {
		t.Fatal("the Makefile has no PURE")
	}
	for _, pattern := range strings.Fields(string(line[1])) {
		for _, name := range named(pattern) {
			if !rooms[name].Pure {
				t.Errorf("the Makefile tests %s without the race detector: take it out of PURE, or make it a pure room", name)
			}
		}
	}
}

// named are the rooms that a pattern of go test names; one that names none is a room that is not there.
func named(pattern string) (names []string) {
	prefix, all := strings.CutSuffix(strings.TrimPrefix(pattern, "./"), "/...")
	if !all {
		return []string{prefix}
	}
	for name := range rooms {
		if name == prefix || strings.HasPrefix(name, prefix+"/") {
			names = append(names, name)
		}
	}
	if names == nil {
		names = []string{prefix}
	}
	return names
}
