//go:build synctests

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skeinstream/skein/broker"
)

// demo runs `skein demo upgrade` on fake time, and sees to it that nothing is left behind: the bubble looks after goroutines.
func demo(t *testing.T, until time.Duration, args ...string) (s *shell, code int) {
	t.Helper()
	s = new(shell)
	t.Setenv("TMPDIR", t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer time.AfterFunc(until, cancel).Stop()
		code = s.run(ctx, append([]string{"demo", "upgrade"}, args...)...)
		cancel()
	})
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	return s, code
}

// Without any flag, on no terminal: lines, and a good verdict.
func TestDemoUpgradeTellsInLines(t *testing.T) {
	s, code := demo(t, time.Hour)
	out := s.stdout.String()
	if code != 0 || s.stderr.String() != "" {
		t.Errorf("exit %d\n%s%s", code, out, s.stderr.String())
	}
	for _, want := range []string{
		"== act 2: one rolling bounce to the new code", "old-1 starts, old code", "runs COOPERATIVE from now on", "is killed (-9)", "the broker is back",
		"gives up all to let an old member in", "PARTITION", "VERDICT: good", "Handled twice in clean acts: 0", "Two owners: 0. Lost: 0.", "Skein's consumer held to",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Contains(out, "\x1b") {
		t.Error("what is no terminal is sent escapes")
	}
}

func TestDemoUpgradeTellsInJSON(t *testing.T) {
	s, code := demo(t, time.Hour, "--json", "--pace", "0s")
	if code != 0 || s.stderr.String() != "" {
		t.Fatalf("exit %d\n%s", code, s.stderr.String())
	}
	seen := map[string]int{}
	var last map[string]any
	for line := range bytes.Lines([]byte(s.stdout.String())) {
		last = nil
		if err := json.Unmarshal(line, &last); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		kind, _ := last["event"].(string)
		seen[kind]++
	}
	if seen["act"] != 8 || seen["killed"] != 2 || seen["joined"] == 0 || seen["committed"] == 0 || seen["assigned"] == 0 || seen["verdict"] != 1 {
		t.Errorf("%v", seen)
	}
	if last["event"] != "verdict" || last["good"] != true || last["lost"] != 0.0 || last["overlaps"] != 0.0 {
		t.Errorf("%v", last)
	}
}

func TestDemoUpgradeIsInterrupted(t *testing.T) {
	for _, after := range []time.Duration{0, time.Second, 5 * time.Second, 20 * time.Second} {
		if s, code := demo(t, after); code != 130 || s.stderr.String() != "" || strings.Contains(s.stdout.String(), "VERDICT") {
			t.Errorf("after %v: exit %d, %s", after, code, s.stderr.String())
		}
	}
}

func TestDemoUpgradeRefusesWhatMakesNoSense(t *testing.T) {
	for _, args := range [][]string{{"--pace", "-1s"}, {"--session-timeout", "5ms"}, {"extra"}} {
		if s, code := demo(t, time.Hour, args...); code != 2 {
			t.Errorf("%v: exit %d, %s", args, code, s.stderr.String())
		}
	}
}

// On a cluster of others it leaves nothing behind, whether it comes to its end or not.
func TestDemoUpgradeOnACluster(t *testing.T) {
	c := startClusterWith(t, broker.Config{Settings: map[string]string{
		"group.initial.rebalance.delay.ms": "100", "group.min.session.timeout.ms": "100", "offsets.topic.num.partitions": "1", "skein.durability": "os",
	}})
	out := c.do("demo", "upgrade", "--bootstrap", c.address, "--pace", "0s", "--session-timeout", "2s")
	c.want(out, "VERDICT: good", "one rolling bounce back to the old code")
	if strings.Contains(out, "the broker starts again") {
		t.Error("somebody else's broker was started again")
	}
	ctx, cancel := context.WithCancel(t.Context())
	var stderr output
	code := Run(ctx, worldOf(&watcher{"is killed (-9)", cancel}, &stderr), []string{"demo", "upgrade", "--bootstrap", c.address, "--pace", "0s", "--session-timeout", "2s"})
	if code != 130 || stderr.String() != "" {
		t.Errorf("exit %d, %s", code, stderr.String())
	}
	if left := c.do("topic", "list") + c.do("group", "list"); strings.Contains(left, "skein-demo") {
		t.Errorf("left behind: %s", left)
	}
}

// worldOf is a world that writes there.
func worldOf(stdout, stderr io.Writer) Env {
	return Env{
		Stdin: strings.NewReader(""), Stdout: stdout, Stderr: stderr,
		Getenv: func(string) string { return "" }, Environ: func() []string { return nil }, Now: time.Now,
	}
}

// watcher does something when it is told a text.
type watcher struct {
	text string
	do   func()
}

func (w *watcher) Write(b []byte) (int, error) {
	if strings.Contains(string(b), w.text) {
		w.do()
	}
	return len(b), nil
}

// full takes so much and no more.
type full struct{ left int }

var errFull = errors.New("no space left")

func (f *full) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, errFull
	}
	return len(b), nil
}

func TestDemoUpgradeEndsWhenNobodyCanSeeIt(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		var stderr output
		began := time.Now()
		code := Run(t.Context(), worldOf(&full{300}, &stderr), []string{"demo", "upgrade"})
		if code != 1 || !strings.Contains(stderr.String(), "writing the output: no space left") || time.Since(began) > 5*time.Second {
			t.Errorf("exit %d after %v: %s", code, time.Since(began), stderr.String())
		}
	})
}
