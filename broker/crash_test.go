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

	raceStride  = 80 // crashStride under the race detector, which looks for races and not for what a disk may lose
	crashesHeld = 40 // so many are in memory at once, about, in each kind: the workload runs again for the others
)

// TestABrokerSurvivesACrashAtAnyChangeOfItsDisk: everything that was acknowledged is there once and in order, nothing is
// there that was not sent, and clients go on where they were. SKEIN_CRASH_SEEDS=n looks at every change of the disk in n
// runs, without it at a few in each of some, and in one under the race detector.
func TestABrokerSurvivesACrashAtAnyChangeOfItsDisk(t *testing.T) {
	seeds, stride := crashSeeds, crashStride
	if underRace {
		seeds, stride = 1, raceStride
	}
	if n, err := strconv.Atoi(os.Getenv("SKEIN_CRASH_SEEDS")); err == nil {
		seeds, stride = n, 1
	}
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			crashes, changes := 0, 1
			for from := 0; from < changes; from += crashesHeld * stride {
				w := crashRun(t, seed, func(n int) bool {
					return n >= from && n < from+crashesHeld*stride && (n+int(seed))%stride == 0
				})
				changes = max(changes, w.changes)
				for i, c := range w.each {
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
