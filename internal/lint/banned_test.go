package lint

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// actingImports are the packages through which code acts on the world.
var actingImports = map[string]string{
	"os":           "take bytes or an interface from the shell",
	"net":          "take addresses as values",
	"net/http":     "leave it to the shell",
	"math/rand":    "take the random value, or a seeded source, as an argument",
	"math/rand/v2": "take the random value, or a seeded source, as an argument",
	"crypto/rand":  "take the random value, or an io.Reader, as an argument",
	"context":      "pure code does not wait: drop the parameter",
}

// clockCalls are the functions of package time that read or arm a clock.
var clockCalls = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

// slogValues are what pure rooms may use of log/slog: with them a note is returned. What would log it is the shell's.
var slogValues = []string{"Level", "LevelDebug", "LevelInfo", "LevelWarn", "LevelError", "Attr", "String", "Int", "Int64", "Uint64", "Bool", "Duration", "Time", "Any"}

// TestPureRoomsDoNotAct keeps decisions replayable: the same values in, the same values out.
func TestPureRoomsDoNotAct(t *testing.T) {
	for _, s := range sources(t) {
		if s.isTest() || !rooms[s.room()].Pure || !s.inMainModule() {
			continue
		}
		for _, imp := range s.file.Imports {
			p := strings.Trim(imp.Path.Value, `"`)
			if instead, banned := actingImports[p]; banned {
				t.Errorf("%s:%d: the pure room %s imports %s: %s", s.path, s.line(imp.Pos()), s.room(), p, instead)
			}
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				t.Errorf("%s:%d: the pure room %s starts a goroutine: return what must happen and let the shell do it", s.path, s.line(n.Pos()), s.room())
			case *ast.SelectorExpr:
				if isLogger(n) {
					t.Errorf("%s:%d: the pure room %s uses slog.%s: return what should be logged", s.path, s.line(n.Pos()), s.room(), n.Sel.Name)
				}
				if isClock(n) {
					t.Errorf("%s:%d: the pure room %s calls time.%s: take now as an argument", s.path, s.line(n.Pos()), s.room(), n.Sel.Name)
				}
			}
			return true
		})
	}
}

func isClock(sel *ast.SelectorExpr) bool {
	return isPackage(sel.X, "time") && slices.Contains(clockCalls, sel.Sel.Name)
}

func isLogger(sel *ast.SelectorExpr) bool {
	return isPackage(sel.X, "slog") && !slices.Contains(slogValues, sel.Sel.Name)
}

func isPackage(x ast.Expr, name string) bool {
	id, ok := x.(*ast.Ident)
	return ok && id.Name == name && id.Obj == nil
}

// TestFilesGoThroughVFS keeps the broker's file access injectable, so that the
// crash tests see every write.
func TestFilesGoThroughVFS(t *testing.T) {
	banned := []string{"Create", "Open", "OpenFile", "Remove", "RemoveAll", "Rename", "ReadFile", "WriteFile", "Mkdir", "MkdirAll", "ReadDir", "Stat", "Truncate"}
	for _, s := range sources(t) {
		if s.isTest() || !strings.HasPrefix(s.room(), "broker") {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && isPackage(sel.X, "os") && slices.Contains(banned, sel.Sel.Name) {
				t.Errorf("%s:%d: os.%s: use the vfs.FS that was passed in", s.path, s.line(n.Pos()), sel.Sel.Name)
			}
			return true
		})
	}
}

// TestNoInitFunctions: everything hangs from a value built by its user.
func TestNoInitFunctions(t *testing.T) {
	for _, s := range sources(t) {
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				t.Errorf("%s:%d: func init: build the value where it is used and pass it in", s.path, s.line(f.Pos()))
			}
		}
	}
}
