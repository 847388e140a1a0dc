package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/skeinstream/skein/bench/internal/program"
)

// The test program, too, is a reader when it is called so.
func TestMain(m *testing.M) {
	if !program.Child(readVerb, runReader) {
		os.Exit(m.Run())
	}
}

// That it runs; what it costs is none of a test's business.
func TestEachReaderReads(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("needs /proc")
	}
	o, err := parseOptions([]string{"-rounds", "1"}, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	o.records = map[int]int{100: 200_000, 1024: 20_000}
	var out, progress bytes.Buffer
	if err := measure(t.Context(), o, t.TempDir(), &out, &progress); err != nil {
		t.Fatalf("%v\n%s", err, progress.String())
	}
	for _, reader := range readers() {
		if got := strings.Count(out.String(), "| "+reader+" |"); got != 2 {
			t.Errorf("%s is in %d tables, want 2:\n%s", reader, got, out.String())
		}
	}
}

func TestCostIsAboveOneForWhoLoses(t *testing.T) {
	slow := []sample{{Records: 100, Took: 2 * time.Second, Mallocs: 300}}
	fast := []sample{{Records: 100, Took: time.Second, Mallocs: 100}}
	if c := cost(slow, fast, sample.rate, true); c != 2 {
		t.Errorf("half the rate costs %v", c)
	}
	if c := cost(slow, fast, sample.allocations, false); c != 3 {
		t.Errorf("three times the allocations cost %v", c)
	}
	var out bytes.Buffer
	writeTable(&out, 100, map[string][]sample{consumerAll: slow, plain: fast, consumer500: fast, plain500: slow})
	if got := out.String(); !strings.Contains(got, "| consumer: cost | **2.000** |") || !strings.Contains(got, "| consumer, 500 a poll: cost | 0.500 |") {
		t.Error(got)
	}
}

func TestWrongOptionsAreRefused(t *testing.T) {
	for _, args := range [][]string{{"-broker", "rabbit"}, {"-rounds", "0"}, {"surplus"}} {
		if _, err := parseOptions(args, &bytes.Buffer{}); err == nil {
			t.Errorf("%v is accepted", args)
		}
	}
}
