// Package root finds the source trees that tests run programs from.
package root

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Interop is the directory of the interop module: the nearest one upwards from
// the working directory, or beside one of those, whose go.mod declares it.
func Interop() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the interop module: %w", err)
	}
	for {
		for _, d := range []string{dir, filepath.Join(dir, "interop")} {
			text, err := os.ReadFile(filepath.Join(d, "go.mod"))
			if err == nil && strings.HasPrefix(string(text), "module github.com/skeinstream/skein/interop\n") {
				return d, nil
			}
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("finding the interop module: no go.mod of it upwards from the working directory")
		}
		dir = parent
	}
}

// Skein is the directory of the main module, which lies around this one.
func Skein() (string, error) {
	dir, err := Interop()
	if err != nil {
		return "", err
	}
	return filepath.Dir(dir), nil
}
