package broker

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"testing/synctest"
)

// crashSettings are settings under which little data takes every road.
func crashSettings(seed uint64) map[string]string {
	return map[string]string{
		"skein.wal.direct.bytes":    []string{"1500", "4000", "400"}[seed%3],
		"skein.wal.bytes":           "1048576",
		"skein.wal.file.bytes":      "65536",
		"connections.max.idle.ms":   "-1",
		"log.cleaner.backoff.ms":    "5000",
		"auto.create.topics.enable": "false",
	}
}

const (
	crashSeeds  = 8  // runs of the workload
	crashSteps  = 60 // of each
	crashStride = 16 // of so many changes of the disk one is looked at
	crashKinds  = 3  // a kill, a power cut, and one on a disk that writes 512 bytes at a time
)

// TestABrokerSurvivesACrashAtAnyChangeOfItsDisk: everything that was acknowledged is there once and in order, nothing is
// there that was not sent, and clients go on where they were. SKEIN_CRASH_SEEDS=n looks at every change of the disk in n
// runs, without it at a few in each of some.
func TestABrokerSurvivesACrashAtAnyChangeOfItsDisk(t *testing.T) {
	seeds, parts := crashSeeds, 1
	if underRace {
		seeds = 1
	}
	if n, err := strconv.Atoi(os.Getenv("SKEIN_CRASH_SEEDS")); err == nil {
		seeds, parts = n, crashStride
	}
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			crashes, changes := 0, 0
			for part := range parts { // each looks at others, so that not all are in memory at once
				w := crashRun(t, seed, func(n int) bool { return (n+int(seed))%crashStride == part })
				changes = max(changes, w.changes)
				for i, c := range w.crashes {
					crashes++
					synctest.Test(t, func(t *testing.T) { c.check(t, w.settings, i%5/4) })
					if t.Failed() {
						t.Fatalf("did %v", w.ops)
					}
				}
			}
			t.Logf("%d crashes at %d changes of the disk", crashes, changes)
		})
	}
}

// crashRun runs the workload and collects crashes.
func crashRun(t *testing.T, seed uint64, sample func(n int) bool) (w *workload) {
	synctest.Test(t, func(t *testing.T) {
		w = newWorkload(t, seed, crashSettings(seed), sample)
		w.run(crashSteps)
	})
	return w
}
