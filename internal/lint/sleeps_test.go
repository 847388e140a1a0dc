package lint

import (
	"go/ast"
	"go/build/constraint"
	"go/token"
	"strings"
	"testing"
)

// TestTestsDoNotSleep: a test waits for what it expects, or lives in a
// testing/synctest bubble, where sleeping costs nothing and proves something.
func TestTestsDoNotSleep(t *testing.T) {
	for _, s := range sources(t) {
		if !s.isTest() {
			continue
		}
		bubbles := spansOf(s.file, isBubble)
		ast.Inspect(s.file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if ok && isCall(call, "time", "Sleep") && !inside(call.Pos(), bubbles) {
				t.Errorf("%s:%d: time.Sleep in a test: wait on a channel or a condition, or run the test in synctest.Test", s.path, s.line(call.Pos()))
			}
			return true
		})
	}
}

type span struct{ from, to token.Pos }

func inside(p token.Pos, spans []span) bool {
	for _, s := range spans {
		if s.from <= p && p < s.to {
			return true
		}
	}
	return false
}

func spansOf(f *ast.File, match func(ast.Node) bool) []span {
	var out []span
	ast.Inspect(f, func(n ast.Node) bool {
		if n != nil && match(n) {
			out = append(out, span{n.Pos(), n.End()})
		}
		return true
	})
	return out
}

// isBubble matches synctest.Test(...) and any function that says in its
// comment that it runs inside a bubble.
func isBubble(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CallExpr:
		return isCall(n, "synctest", "Test")
	case *ast.FuncDecl:
		return strings.Contains(n.Doc.Text(), "inside a bubble")
	}
	return false
}

func isCall(c *ast.CallExpr, pkg, name string) bool {
	sel, ok := c.Fun.(*ast.SelectorExpr)
	return ok && sel.Sel.Name == name && isPackage(sel.X, pkg)
}

// TestKgoInBubblesIsTagged: kgo's mutexes stall the fake clock unless it is
// built with the tag synctests, which the one test command passes.
func TestKgoInBubblesIsTagged(t *testing.T) {
	for _, s := range sources(t) {
		if s.isTest() && imports(s, kgo) && imports(s, "testing/synctest") && !tagged(s.file, "synctests") {
			t.Errorf("%s: a kgo client inside a bubble needs the line //go:build synctests at the top of the file", s.path)
		}
	}
}

func imports(s source, p string) bool {
	for _, imp := range s.file.Imports {
		if strings.Trim(imp.Path.Value, `"`) == p {
			return true
		}
	}
	return false
}

func tagged(f *ast.File, tag string) bool {
	for _, group := range f.Comments {
		for _, c := range group.List {
			if x, err := constraint.Parse(c.Text); err == nil && !x.Eval(func(t string) bool { return t != tag }) {
				return true
			}
		}
	}
	return false
}
