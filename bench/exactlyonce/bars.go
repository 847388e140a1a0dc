package main

import (
	"fmt"
	"io"
	"math"
)

const (
	// share is what exactly-once processing has to reach of the throughput of the
	// same program without it.
	share = 0.85
	// level is how far behind still counts as level: what runs of the same client
	// differ by.
	level = 0.95
)

// verdict is one bar and how it went.
type verdict struct {
	met  bool
	what string
}

// verdicts judges what was measured on a broker.
func (f *findings) verdicts(broker string, workers []int) []verdict {
	return append(f.ofCopies(broker), f.ofFleets(broker, workers)...)
}

// ofCopies: exactly once costs at most what share leaves, and nobody else's
// exactly once is faster.
func (f *findings) ofCopies(broker string) (all []verdict) {
	rate := func(client string) float64 { return f.median(key{broker, client, 1, rateOf}) }
	if got := rate(ours) / rate(oursPlain); !math.IsNaN(got) {
		all = append(all, verdict{got >= share, fmt.Sprintf("exactly once has %.0f %% of the throughput of at least once; asked are %.0f", 100*got, 100*share)})
	}
	for _, c := range copiers() {
		if c.ours || c.without == "" {
			continue
		}
		if got := rate(ours) / rate(c.name); !math.IsNaN(got) {
			all = append(all, verdict{got >= level, fmt.Sprintf("exactly once has %.2f times the throughput of %s; asked is %.2f", got, c.name, level)})
		}
	}
	return all
}

// ofFleets: a worker has one producer, however many partitions it has, and that
// saves requests wherever there are fewer workers than partitions.
func (f *findings) ofFleets(broker string, workers []int) (all []verdict) {
	for _, n := range workers {
		of := func(client, column string) float64 { return f.median(key{broker, client, n, column}) }
		if got := of(ours, producers); !math.IsNaN(got) {
			all = append(all, verdict{got == float64(n), fmt.Sprintf("%d workers have %.0f producers", n, got)})
		}
		for _, others := range []string{oursPartition, perPartitionPeer} {
			if got := of(ours, perThousand) / of(others, perThousand); !math.IsNaN(got) {
				all = append(all, verdict{got < 1, fmt.Sprintf("%d workers ask coordinators for %.2f times as much, a record, as those of %s", n, got, others)})
			}
		}
	}
	return all
}

// writeBars says what was asked on each broker, what was missed first.
func (m *measurement) writeBars(out io.Writer) {
	for _, met := range []bool{false, true} {
		word := map[bool]string{false: "**missed**", true: "met"}[met]
		for _, broker := range m.brokers {
			for _, v := range m.found.verdicts(string(broker), m.options.workers) {
				if v.met == met {
					fmt.Fprintf(out, "- %s, on %s: %s\n", word, broker.Title(), v.what)
				}
			}
		}
	}
}
