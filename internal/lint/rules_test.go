package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"
)

// The rules themselves are tested on small made-up files: a rule that cannot
// fail keeps nothing.

func made(t *testing.T, path, code string) source {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, path, code, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return source{path: path, file: f, fset: fset}
}

func TestGranted(t *testing.T) {
	r := room{Rooms: []string{"broker/internal/record", "cli/internal/*"}, Others: []string{kmsg}}
	code := made(t, "broker/internal/api/x.go", "package api")
	test := made(t, "broker/internal/api/x_test.go", "package api")
	for _, c := range []struct {
		s    source
		p    string
		want bool
	}{
		{code, "net/http", true},
		{code, module + "/broker/internal/record", true},
		{code, module + "/broker/internal/commit", false},
		{test, module + "/broker/internal/commit", true},
		{code, module + "/cli/internal/connect", true},
		{code, kmsg, true},
		{code, kgo, false},
		{test, kgo, true},
		{test, "github.com/IBM/sarama", false},
	} {
		if got := granted(r, c.s, c.p); got != c.want {
			t.Errorf("granted(%s, %s) = %v, want %v", c.s.path, c.p, got, c.want)
		}
	}
}

func TestClockCallsAreSeen(t *testing.T) {
	s := made(t, "x.go", "package x\nimport \"time\"\nvar a = time.Now()\nvar b = time.Second\n")
	var seen int
	ast.Inspect(s.file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && isClock(sel) {
			seen++
		}
		return true
	})
	if seen != 1 {
		t.Errorf("saw %d clock calls, want 1", seen)
	}
}

func TestLoggersAreSeen(t *testing.T) {
	s := made(t, "x.go", "package x\nimport \"log/slog\"\nvar a = slog.Default()\nvar b = slog.String(\"a\", \"b\")\nvar c *slog.Logger\n")
	var seen int
	ast.Inspect(s.file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && isLogger(sel) {
			seen++
		}
		return true
	})
	if seen != 2 {
		t.Errorf("saw %d uses of loggers, want 2", seen)
	}
}

func TestBubblesAreSeen(t *testing.T) {
	s := made(t, "x_test.go", `package x
func a() { synctest.Test(t, func(t *testing.T) { time.Sleep(1) }) }
// b runs inside a bubble.
func b() { time.Sleep(1) }
func c() { time.Sleep(1) }`)
	bubbles := spansOf(s.file, isBubble)
	var outside int
	ast.Inspect(s.file, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && isCall(call, "time", "Sleep") && !inside(call.Pos(), bubbles) {
			outside++
		}
		return true
	})
	if outside != 1 {
		t.Errorf("saw %d sleeps outside bubbles, want 1", outside)
	}
}

func TestTagsAreSeen(t *testing.T) {
	with := made(t, "x_test.go", "//go:build synctests\n\npackage x")
	without := made(t, "x_test.go", "//go:build linux\n\npackage x")
	if !tagged(with.file, "synctests") || tagged(without.file, "synctests") {
		t.Error("a file is tagged exactly when its build constraint demands the tag")
	}
}
