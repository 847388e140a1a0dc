package lint

import (
	"go/ast"
	"slices"
	"testing"
)

// TestFilesStaySmall: a file is one subject.
func TestFilesStaySmall(t *testing.T) {
	for _, s := range sources(t) {
		limit := fileLines
		if s.isTest() {
			limit = testFileLines
		}
		if was, listed := longFiles[s.path]; listed {
			limit = was
		}
		if n := s.line(s.file.FileEnd); n > limit {
			t.Errorf("%s has %d lines, its limit is %d: give its second subject a file of its own", s.path, n, limit)
		}
	}
}

// TestFunctionsStaySmall: a function is one thought; the parent branches, the leaves compute.
func TestFunctionsStaySmall(t *testing.T) {
	var lengths []int
	for _, s := range sources(t) {
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			n := bodyLines(s, f)
			if !s.isTest() {
				lengths = append(lengths, n)
			}
			checkFunction(t, s, f.Name.Name, n)
		}
	}
	slices.Sort(lengths)
	if m := lengths[len(lengths)/2]; m > medianLines {
		t.Errorf("the median function has %d lines, the limit is %d: name the steps inside the long ones", m, medianLines)
	}
}

func bodyLines(s source, f *ast.FuncDecl) int {
	return s.line(f.Body.Rbrace) - s.line(f.Body.Lbrace) + 1
}

func checkFunction(t *testing.T, s source, name string, n int) {
	limit := functionLines
	if was, listed := longFunctions[s.path+":"+name]; listed {
		limit = was
	}
	if n > limit {
		t.Errorf("%s: %s has %d lines, its limit is %d: name its parts and call them", s.path, name, n, limit)
	}
}

// TestRatchetsFall: an exception that is no longer needed leaves the list.
func TestRatchetsFall(t *testing.T) {
	length, function := map[string]int{}, map[string]int{}
	for _, s := range sources(t) {
		length[s.path] = s.line(s.file.FileEnd)
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
				key := s.path + ":" + f.Name.Name
				function[key] = max(function[key], bodyLines(s, f))
			}
		}
	}
	for name, was := range longFunctions {
		if function[name] < was {
			t.Errorf("%s has %d lines and is listed with %d: lower or remove its entry in internal/lint/sizes.go", name, function[name], was)
		}
	}
	for p, was := range longFiles {
		if length[p] < was {
			t.Errorf("%s has %d lines and is listed with %d: lower or remove its entry in internal/lint/sizes.go", p, length[p], was)
		}
	}
}
