package lint

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestOnlyPureRoomsDoWithoutTheRaceDetector: what the Makefile's PURE names is tested without it.
func TestOnlyPureRoomsDoWithoutTheRaceDetector(t *testing.T) {
	for _, name := range makefile(t, "PURE") {
		if !rooms[name].Pure {
			t.Errorf("the Makefile tests %s without the race detector: take it out of PURE, or make it a pure room", name)
		}
	}
}

// TestWhatIsThinnedUnderTheRaceDetectorIsTestedInFullToo: a room with a race_test.go looks at fewer cases under it.
func TestWhatIsThinnedUnderTheRaceDetectorIsTestedInFullToo(t *testing.T) {
	full := append(makefile(t, "PURE"), makefile(t, "FULL")...)
	for _, s := range sources(t) {
		if path.Base(s.path) == "race_test.go" && s.inMainModule() && !slices.Contains(full, s.room()) {
			t.Errorf("%s looks at fewer cases under the race detector: add the room to FULL in the Makefile, or to PURE", s.room())
		}
	}
}

// makefile are the rooms that a variable of the Makefile names.
func makefile(t *testing.T, variable string) (names []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^` + variable + `\s*:=(.*)$`).FindSubmatch(text)
	if line == nil {
		t.Fatalf("the Makefile has no %s", variable)
	}
	for _, pattern := range strings.Fields(string(line[1])) {
		names = append(names, named(pattern)...)
	}
	return names
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
