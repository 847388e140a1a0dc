package peers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/skeinstream/skein/interop/proc"
)

// BuildSkein compiles the skein command of this checkout into dir.
func BuildSkein(ctx context.Context, dir string) (command string, err error) {
	source, err := mainModule()
	if err != nil {
		return "", err
	}
	command = filepath.Join(dir, "skein")
	build := exec.CommandContext(ctx, "go", "build", "-o", command, "./cmd/skein")
	build.Dir = source
	if _, err := proc.Output(build); err != nil {
		return "", fmt.Errorf("building skein: %w", err)
	}
	return command, nil
}

// mainModule is the directory of the main module: the nearest one upwards
// whose go.mod declares it.
func mainModule() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding skein's source: %w", err)
	}
	for {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(text), "module github.com/skeinstream/skein\n") {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("finding skein's source: run this inside a checkout")
		}
		dir = parent
	}
}

func (l Launcher) skein(dir string, flags ...string) (*Broker, error) {
	addr, err := loopback()
	if err != nil {
		return nil, err
	}
	pages := ""
	if l.Profiles || l.Counts {
		if pages, err = loopback(); err != nil {
			return nil, err
		}
	}
	if l.Profiles {
		flags = append(flags, "--pprof")
	}
	args := append([]string{"serve", "--listen", addr, "--http", pages, "--data", filepath.Join(dir, "data")}, flags...)
	for _, name := range slices.Sorted(maps.Keys(l.Settings)) {
		args = append(args, "--set", name+"="+l.Settings[name])
	}
	began := time.Now()
	p, err := proc.Start(exec.Command(l.Skein, args...), logName(dir))
	if err != nil {
		return nil, err
	}
	b := launched(addr, began, p)
	if l.Profiles {
		b.Profiles = "http://" + pages + "/debug/pprof/"
	}
	if l.Counts {
		b.count = fromPages("http://" + pages + "/metrics")
	}
	return b, nil
}
