package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/skeinstream/skein/bench/internal/peers"
	"github.com/skeinstream/skein/bench/internal/result"
)

// The test program, too, is kfake when it is called so.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == peers.KfakeVerb {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		if err := peers.RunKfake(ctx, os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// A run with next to no load gives every row of the Go client a number; what
// the numbers are is none of a test's business.
func TestSmallComparison(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("needs /proc")
	}
	name := filepath.Join(t.TempDir(), "result.json")
	o, err := parse([]string{"-peers", "skein,skein-os,kfake,kfake-sync", "-only", "idle|latency|end-to-end|commits|members|txn|go-|loaded", "-rounds", "1", "-json", name, "-dir", t.TempDir()}, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	o.plan = plan{
		idle:    time.Millisecond,
		latency: 200 * time.Millisecond,
		groups:  100 * time.Millisecond,
		storm:   5,
		txns:    50 * time.Millisecond,
		warm:    100,
		noisy:   true,
		records: map[int]int{100: 2000, 1024: 1000},
	}
	var out, progress bytes.Buffer
	if err := compare(t.Context(), o, &out, &progress); err != nil {
		t.Fatalf("%v\n%s", err, progress.String())
	}
	if !strings.Contains(out.String(), "| start to first accepted produce (ms) |") {
		t.Errorf("the table lacks the start:\n%s", out.String())
	}
	checkDocument(t, name, o.peers)
}

func checkDocument(t *testing.T, name string, asked []result.Peer) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var d result.Document
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	lines := map[string]result.Line{}
	for _, l := range d.Rows {
		lines[l.ID] = l
	}
	for _, row := range result.Rows() {
		if strings.HasPrefix(row.ID, "java") || strings.HasPrefix(row.ID, "librdkafka") {
			continue
		}
		for _, p := range asked {
			checkCell(t, row, p, lines[row.ID].Samples[p])
		}
	}
}

// checkCell wants one positive number; processor time may be too little for
// the system's clock.
func checkCell(t *testing.T, row result.Row, p result.Peer, samples []float64) {
	t.Helper()
	if len(samples) != 1 {
		t.Errorf("%s of %s has %d samples, want 1", row.ID, p, len(samples))
		return
	}
	if v := samples[0]; v < 0 || v == 0 && !strings.HasSuffix(row.ID, "-cpu") {
		t.Errorf("%s of %s is %v", row.ID, p, v)
	}
}

func TestInterruptedComparisonIsAnErrorAndLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	o, err := parse([]string{"-peers", "kfake", "-only", "idle", "-dir", dir}, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	o.plan = plan{idle: time.Hour, noisy: true}
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	var out, progress bytes.Buffer
	if err := compare(ctx, o, &out, &progress); err == nil {
		t.Error("an interrupted run is no error")
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestWrongOptionsAreRefused(t *testing.T) {
	for _, args := range [][]string{{"-peers", "rabbit"}, {"-only", "("}, {"-rounds", "0"}, {"surplus"}} {
		if _, err := parse(args, &bytes.Buffer{}); err == nil {
			t.Errorf("%v is accepted", args)
		}
	}
}

// Each phase's number is what its plan says, and a quick run has all of them.
func TestPlans(t *testing.T) {
	for _, args := range [][]string{{}, {"-quick"}, {"-profile", "x"}} {
		o, err := parse(args, &bytes.Buffer{})
		if err != nil {
			t.Fatal(err)
		}
		for _, size := range result.Sizes() {
			if o.plan.records[size] == 0 || o.plan.others[size] == 0 {
				t.Errorf("%v: nothing of %d bytes is sent", args, size)
			}
		}
		if o.plan.warm == 0 || o.plan.idle == 0 || o.plan.latency == 0 || o.plan.groups == 0 || o.plan.storm == 0 ||
			o.plan.txns == 0 || o.plan.committed == 0 {
			t.Errorf("%v: %+v", args, o.plan)
		}
	}
}
