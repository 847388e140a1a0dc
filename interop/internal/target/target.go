// Package target starts the broker under test: Skein, or, to test the tests
// themselves, a real Kafka.
package target

import (
	"cmp"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/skeinstream/skein/interop/internal/report"
	"github.com/skeinstream/skein/interop/internal/skein"
	"github.com/skeinstream/skein/interop/kafka"
)

// Env names the environment variable that chooses the broker under test:
// skein (the default), kafka, or the address of one that runs already.
const Env = "SKEIN_INTEROP_TARGET"

// Target is a running broker under test.
type Target struct {
	Name    string // skein, kafka, or the address
	Addr    string
	DataDir string       // empty when not known
	Logs    []string     // files of what it has printed, that may be there
	Restart func() error // a clean stop and a new start at the same address; nil when not possible
	Kill    func()       // kill -9; nil when not possible
	Revive  func() error // a new start on the same data at the same address, after Kill; nil when Kill is
}

// IsSkein tells whether our own broker is under test.
func (t Target) IsSkein() bool { return t.Name == "skein" }

// Named is the Name of the Target that Start would start.
func Named() string { return cmp.Or(os.Getenv(Env), "skein") }

// Start starts the broker under test with settings by Kafka's names; it ends
// with the test.
func Start(t testing.TB, settings map[string]string) Target {
	t.Helper()
	return StartNamed(t, Named(), settings)
}

// StartNamed is Start for who needs brokers of several names side by side.
func StartNamed(t testing.TB, name string, settings map[string]string) Target {
	t.Helper()
	switch name {
	case "skein":
		return startSkein(t, settings)
	case "kafka":
		return startKafka(t, settings)
	}
	return Target{Name: name, Addr: name}
}

func startSkein(t testing.TB, settings map[string]string) Target {
	t.Helper()
	b, err := skein.Start(t, skein.Options{Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the broker said last:\n%s", lastLines(b.Log(), 30))
		}
	})
	restart := func() error { return errors.Join(b.Stop(), b.Start(t.Context())) }
	revive := func() error { return b.Start(t.Context()) }
	return Target{Name: "skein", Addr: b.Addr, DataDir: b.DataDir, Restart: restart, Kill: b.Kill, Revive: revive}
}

func lastLines(text string, n int) string {
	lines := strings.Split(text, "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// Kafka starts a real Kafka that ends with the test. Where it cannot be had
// that is reported and the test is skipped.
func Kafka(t testing.TB, o kafka.Options) *kafka.Broker {
	t.Helper()
	o.Dir = t.TempDir()
	b, err := kafka.Start(t.Context(), o)
	if errors.Is(err, kafka.ErrUnavailable) {
		report.MissingPeer(t, strings.TrimSpace("kafka "+o.Version), err)
		t.SkipNow()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Stop() })
	report.Note(t, report.Run, "kafka "+b.Tools.Version, "broker and tools")
	return b
}
