// Package skein builds the skein command and runs its broker as a child
// process, so that it is met as its users meet it: over the wire, and ended by
// signals.
package skein

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/skeinstream/skein/interop/internal/root"
	"github.com/skeinstream/skein/interop/proc"
)

const (
	startPatience = 2 * time.Minute // they only end a hang
	stopPatience  = 2 * time.Minute
)

// Options say how to run the broker.
type Options struct {
	DataDir  string            // t.TempDir() when empty
	Settings map[string]string // broker settings by Kafka's names
}

// Broker is a skein process, or the place of one between Kill and Start.
type Broker struct {
	Addr    string
	DataDir string

	command  string
	log      string
	settings map[string]string
	process  *proc.Process
	killed   bool
}

// EnvBinary names the environment variable that gives a skein command built
// already, to be tested in place of the one in the tree.
const EnvBinary = "SKEIN_INTEROP_BINARY"

// Build compiles the skein command and returns its path.
func Build(ctx context.Context, t testing.TB) (string, error) {
	t.Helper()
	return BuildIn(ctx, t.TempDir())
}

// BuildIn compiles the skein command into a directory, unless it is built already.
func BuildIn(ctx context.Context, dir string) (string, error) {
	if built := os.Getenv(EnvBinary); built != "" {
		return built, nil
	}
	source, err := root.Skein()
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "skein")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", name, "./cmd/skein")
	cmd.Dir = source
	if _, err := proc.Output(cmd); err != nil {
		return "", fmt.Errorf("building skein: %w", err)
	}
	return name, nil
}

// Start builds and starts a broker that ends with the test.
func Start(t testing.TB, o Options) (*Broker, error) {
	t.Helper()
	command, err := Build(t.Context(), t)
	if err != nil {
		return nil, err
	}
	dir := t.TempDir()
	b := &Broker{
		Addr:     anyPort,
		DataDir:  o.DataDir,
		command:  command,
		log:      filepath.Join(dir, "skein.log"),
		settings: o.Settings,
	}
	if b.DataDir == "" {
		b.DataDir = filepath.Join(dir, "data")
	}
	if err := b.Start(t.Context()); err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		if err := b.Stop(); err != nil {
			t.Errorf("stopping skein: %v\n%s", err, b.process.Tail())
		}
	})
	return b, nil
}

// anyPort lets the broker choose, and say what it chose.
const anyPort = "127.0.0.1:0"

// Start starts the broker again, on the same data and address, after Kill or
// Stop. Whoever has taken the port meanwhile, for a connection of its own, is
// waited for.
func (b *Broker) Start(ctx context.Context) error {
	ready, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	for {
		err := b.start(ready)
		if err == nil || !b.process.PortTaken() || ready.Err() != nil {
			return err
		}
	}
}

func (b *Broker) start(ctx context.Context) error {
	args := []string{"serve", "--listen", b.Addr, "--data", b.DataDir, "--http", ""}
	args = append(args, settingFlags(b.settings)...)
	cmd := exec.Command(b.command, args...)
	cmd.Env = withoutOurs(os.Environ())
	process, err := proc.Start(cmd, b.log)
	if err != nil {
		return err
	}
	b.process, b.killed = process, false
	line, err := process.Await(ctx, readyLine)
	if err != nil {
		process.Kill()
		return err
	}
	if b.Addr == anyPort {
		b.Addr, _, _ = strings.Cut(line[strings.Index(line, readyLine)+len(readyLine):], ",")
	}
	return nil
}

// readyLine is followed by the address of the first listener and a comma.
const readyLine = "skein is ready: PLAINTEXT://"

// withoutOurs takes out what is meant for the tests: the broker reads its
// settings from variables that begin alike.
func withoutOurs(env []string) []string {
	return slices.DeleteFunc(env, func(v string) bool { return strings.HasPrefix(v, "SKEIN_INTEROP_") })
}

func settingFlags(settings map[string]string) []string {
	names := make([]string, 0, len(settings))
	for name := range settings {
		names = append(names, name)
	}
	sort.Strings(names)
	var flags []string
	for _, name := range names {
		flags = append(flags, "--set", name+"="+settings[name])
	}
	return flags
}

// Kill ends the process as a crash would (SIGKILL).
func (b *Broker) Kill() {
	b.process.Kill()
	b.killed = true
}

// Stop ends the process cleanly, unless Kill has ended it. One that ended by itself is an error.
func (b *Broker) Stop() error {
	if b.killed {
		return nil
	}
	return b.process.Stop(stopPatience)
}

// Log is everything the broker has said, over all its starts.
func (b *Broker) Log() string {
	text, err := os.ReadFile(b.log)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text))
}
