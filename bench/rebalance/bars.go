package main

import (
	"fmt"
	"io"
	"time"

	"github.com/skeinstream/skein/bench/internal/stops"
)

// ours is the client that has bars to meet.
const ours = "Skein"

// verdict is one bar and how it went.
type verdict struct {
	met  bool
	what string
}

// verdicts judges Skein's consumer: partitions that need not move are never
// stopped, those that move are stopped least of all clients, and nothing is
// read again, but after a member was killed, which could not commit. How long its
// last heartbeat was ago is chance: there, up to a heartbeat more is no difference.
func verdicts(cells []*cell, heartbeat time.Duration) (all []verdict) {
	for _, x := range cells {
		if x.Client != ours {
			continue
		}
		say := func(met bool, format string, args ...any) {
			all = append(all, verdict{met, fmt.Sprintf("%s on %s: ", x.Scenario, x.Broker) + fmt.Sprintf(format, args...)})
		}
		say(stops.Stopped(x.Staying) == 0, "%d of %d partitions that need not move were stopped, the longest %d ms",
			stops.Stopped(x.Staying), len(x.Staying), ms(stops.Longest(x.Staying)))
		least, whose := leastOfOthers(cells, x)
		mine, chance := ms(stops.Median(x.Moving)), int64(0)
		if x.Scenario == loss {
			chance = ms(heartbeat)
		}
		if whose != "" {
			say(mine <= least+chance, "those that move were stopped for %d ms, with %s %d ms", mine, whose, least)
		}
		say(x.Skipped == 0, "%d records left out", x.Skipped)
		if x.Scenario != loss {
			say(x.Reread == 0, "%d records read again", x.Reread)
		}
	}
	return all
}

// leastOfOthers is the shortest median stop of the other clients.
func leastOfOthers(cells []*cell, of *cell) (least int64, whose string) {
	for _, x := range cells {
		if x.Client == ours || x.Broker != of.Broker || x.Scenario != of.Scenario {
			continue
		}
		if d := ms(stops.Median(x.Moving)); whose == "" || d < least {
			least, whose = d, x.Client
		}
	}
	return least, whose
}

func writeBars(out io.Writer, cells []*cell, heartbeat time.Duration) {
	all := verdicts(cells, heartbeat)
	for _, met := range []bool{false, true} {
		word := map[bool]string{false: "**missed**", true: "met"}[met]
		for _, v := range all {
			if v.met == met {
				fmt.Fprintf(out, "\n- %s: %s", word, v.what)
			}
		}
	}
	if len(all) > 0 {
		fmt.Fprintln(out)
	}
}
