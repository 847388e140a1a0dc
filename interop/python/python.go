// Package python is a Python with the clients that the interop tests and the benchmarks drive, in the versions of
// clients/python/requirements.txt: librdkafka's (confluent-kafka), kafka-python, aiokafka.
package python

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/skeinstream/skein/interop/internal/cache"
	"github.com/skeinstream/skein/interop/internal/root"
	"github.com/skeinstream/skein/interop/proc"
)

// Programs is the directory of the programs of the interop tests.
func Programs() (string, error) {
	dir, err := root.Interop()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "clients", "python"), nil
}

// Interpreter is the path of a Python that has the clients; the first call on a machine installs them.
func Interpreter(ctx context.Context) (string, error) {
	programs, err := Programs()
	if err != nil {
		return "", err
	}
	requirements := filepath.Join(programs, "requirements.txt")
	pins, err := os.ReadFile(requirements)
	if err != nil {
		return "", err
	}
	venv, err := cache.Entry(ctx, "python", pins, func(ctx context.Context, dir string) error {
		if _, err := proc.Output(exec.CommandContext(ctx, "python3", "-m", "venv", dir)); err != nil {
			return err
		}
		pip := filepath.Join(dir, "bin", "pip")
		_, err := proc.Output(exec.CommandContext(ctx, pip, "install", "--quiet", "--disable-pip-version-check", "-r", requirements))
		return err
	})
	return filepath.Join(venv, "bin", "python"), err
}
