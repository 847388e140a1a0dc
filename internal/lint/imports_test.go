package lint

import (
	"slices"
	"strings"
	"testing"
)

const module = "github.com/skeinstream/skein"

// TestImportsFollowTheTable holds every import of the main module to rooms.go.
func TestImportsFollowTheTable(t *testing.T) {
	for _, s := range sources(t) {
		if !s.inMainModule() {
			continue
		}
		r, known := rooms[s.room()]
		if !known {
			t.Errorf("%s: the room %q is not in the table: add it to internal/lint/rooms.go with what it may import", s.path, s.room())
			continue
		}
		for _, imp := range s.file.Imports {
			p := strings.Trim(imp.Path.Value, `"`)
			if !granted(r, s, p) {
				t.Errorf("%s:%d: %s may not import %s: ask for the least you need through an interface declared here, or, if the architecture changes on purpose, grant it in internal/lint/rooms.go",
					s.path, s.line(imp.Pos()), s.room(), p)
			}
		}
	}
}

func granted(r room, s source, p string) bool {
	if isStd(p) {
		return true
	}
	if inner, ours := strings.CutPrefix(p, module+"/"); ours {
		return inner == s.room() || slices.ContainsFunc(r.Rooms, func(g string) bool { return matches(g, inner) }) ||
			s.isTest() && testMayImport(s.room(), inner)
	}
	return hasAnyPrefix(p, r.Others) || s.isTest() && hasAnyPrefix(p, testOnly)
}

// testMayImport lets a test stand on the disks of internal/vfs, play scripts, go through what guides show, run fleets, use
// any room that its own room may see anyway through another, and a test of a client
// stand on a whole broker.
func testMayImport(room, inner string) bool {
	return inner == "internal/vfs" || inner == "internal/scripts" || inner == "internal/transcript" || inner == "internal/fleet" ||
		strings.HasPrefix(room, "broker/internal/") && strings.HasPrefix(inner, "broker/internal/") ||
		slices.Contains([]string{"broker", "client", "assign"}, inner) && slices.Contains(clientRooms, room)
}

// clientRooms are tested against a broker in the process.
var clientRooms = []string{"client", "consumer", "producer", "consumer/parallel", "exactlyonce", "internal/ages"}

// matches reports whether the grant g, a package or "prefix/*", covers p.
func matches(g, p string) bool {
	if prefix, all := strings.CutSuffix(g, "*"); all {
		return strings.HasPrefix(p, prefix)
	}
	return g == p
}

// isStd reports whether p is of the standard library: its first element has no dot.
func isStd(p string) bool {
	first, _, _ := strings.Cut(p, "/")
	return !strings.Contains(first, ".")
}

func hasAnyPrefix(p string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(x string) bool { return strings.HasPrefix(p, x) })
}

// TestTableHasNoEmptyRooms keeps the table true: a room that is gone leaves it.
func TestTableHasNoEmptyRooms(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range sources(t) {
		seen[s.room()] = true
	}
	for name := range rooms {
		if !seen[name] {
			t.Errorf("the table grants imports to %q, which has no Go file: take it out of internal/lint/rooms.go", name)
		}
	}
}
