package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// source is one parsed Go file of the checkout.
type source struct {
	path string // slash-separated, from the root of the checkout
	file *ast.File
	fset *token.FileSet
}

// room is the directory of s, which is its package's place in the table.
func (s source) room() string { return path.Dir(s.path) }

func (s source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

// inMainModule reports whether s belongs to the module at the root.
func (s source) inMainModule() bool { return !inNestedModule(s.path) }

func inNestedModule(p string) bool {
	for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
		if _, err := os.Stat(filepath.Join(root, dir, "go.mod")); err == nil {
			return true
		}
	}
	return false
}

func (s source) line(p token.Pos) int { return s.fset.Position(p).Line }

const root = "../.."

// sources are all Go files of the checkout but generated ones and testdata.
func sources(t *testing.T) []source {
	t.Helper()
	all, err := tree()
	if err != nil {
		t.Fatalf("reading the source tree: %v", err)
	}
	return all
}

// tree is parsed once, for all tests.
var tree = sync.OnceValues(func() (all []source, err error) {
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && skipDir(d.Name()) {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") {
			return nil
		}
		s, err := parse(name)
		if err == nil && !ast.IsGenerated(s.file) {
			all = append(all, s)
		}
		return err
	})
	return all, err
})

func skipDir(name string) bool {
	return name == "testdata" || name == "node_modules" || (len(name) > 2 && strings.HasPrefix(name, "."))
}

func parse(name string) (source, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
	if err != nil {
		return source{}, err
	}
	rel, err := filepath.Rel(root, name)
	return source{path: filepath.ToSlash(rel), file: f, fset: fset}, err
}
