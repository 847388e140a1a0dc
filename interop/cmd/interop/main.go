// Command interop runs the interop tests and shows what they report, which go
// test hides for packages that pass: which peers ran, which were missing, what
// clients lack, what was refused as it must be. Arguments go to go test.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/skeinstream/skein/interop/internal/report"
	"github.com/skeinstream/skein/interop/internal/root"
	"github.com/skeinstream/skein/interop/internal/skein"
)

func main() {
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "interop:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// run returns go test's exit code.
func run(args []string) (int, error) {
	dir, err := root.Interop()
	if err != nil {
		return 1, err
	}
	work, err := os.MkdirTemp("", "skein-interop-report")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(work)
	file := filepath.Join(work, "report")

	built, err := skein.BuildIn(context.Background(), work)
	if err != nil {
		return 1, err
	}
	cmd := exec.Command("go", slices.Concat(test(), longest(), []string{"./..."}, args)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), report.EnvFile+"="+file, skein.EnvBinary+"="+built)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 1, err
	}
	return cmd.ProcessState.ExitCode(), show(file)
}

// test runs one room more than there are cores, and in each room more than the cores could: they wait for sessions to end and
// for Java machines to start. What go vet has to say of tests, make vet has said.
func test() []string {
	return []string{"test", "-timeout", "30m", "-count=1", "-vet=off", "-p", strconv.Itoa(runtime.NumCPU() + 1), "-parallel", strconv.Itoa(2 * runtime.NumCPU())}
}

// longest are the rooms that take longest, to be begun first: else the last of them would run alone. Beside one that is busy
// there is one that waits.
func longest() []string {
	return []string{"./exactlyonce", "./members", "./offsets", "./upgrade", "./differential", "./groups", "./corpus"}
}

// show prints the report of all packages, each line once, and the count.
func show(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("no test reported anything: %w", err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	slices.Sort(lines)
	lines = slices.Compact(lines)
	for _, l := range lines {
		fmt.Println(l)
	}
	fmt.Println(report.Count(lines))
	return nil
}
