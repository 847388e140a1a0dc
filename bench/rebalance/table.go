package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/skeinstream/skein/bench/internal/result"
	"github.com/skeinstream/skein/bench/internal/stops"
)

// write makes the tables, and says which bars were missed.
func (m *measurement) write(out io.Writer, machine string) {
	fmt.Fprintf(out, "%s. %d rounds, %d groups at once; heartbeats every %v, session timeout %v, a record each %v in every partition.\n",
		machine, m.rounds, m.lanes, m.times.heartbeat, m.times.session, interval)
	for _, broker := range m.brokers {
		for _, scenario := range scenarios() {
			var cells []*cell
			for _, c := range m.clients { // in their order, not that of the lanes
				cells = append(cells, m.find(broker, c.name, scenario)...)
			}
			if len(cells) > 0 {
				fmt.Fprintf(out, "\n%s, on %s\n\n", title(scenario, m.size), broker.Title())
				writeTable(out, cells)
			}
		}
	}
	writeBars(out, m.cells, m.times.heartbeat)
}

func (m *measurement) find(broker result.Peer, client, scenario string) (found []*cell) {
	for _, x := range m.cells {
		if x.Broker == string(broker) && x.Client == client && x.Scenario == scenario {
			found = append(found, x)
		}
	}
	return found
}

func writeTable(out io.Writer, cells []*cell) {
	fmt.Fprintln(out, "| client | moving partitions: stopped, median / longest (ms) | others: stopped / longest (ms) | moved / fewest | read again | stopped in all, a partition (ms) | noise (ms) |")
	fmt.Fprintln(out, "| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
	for _, x := range cells {
		fmt.Fprintf(out, "| %s | %d / %d | %d of %d / %d | %d / %d | %d | %d | %d |\n", x.Client,
			ms(stops.Median(x.Moving)), ms(stops.Longest(x.Moving)), stops.Stopped(x.Staying), len(x.Staying), ms(stops.Longest(x.Staying)),
			x.Moves, x.Fewest, x.Reread, ms(x.Mean()), ms(x.Noise))
	}
}

// brief is a round in one line.
func brief(s *stops.Summary) string {
	return fmt.Sprintf("moving %d/%d ms, others %d of %d stopped, longest %d ms, moved %d of %d, read again %d, in all %d ms a partition, noise %d ms, skipped %d",
		ms(stops.Median(s.Moving)), ms(stops.Longest(s.Moving)), stops.Stopped(s.Staying), len(s.Staying), ms(stops.Longest(s.Staying)),
		s.Moves, s.Fewest, s.Reread, ms(s.Mean()), ms(s.Noise), s.Skipped)
}

func ms(d time.Duration) int64 { return d.Round(time.Millisecond).Milliseconds() }

func writeJSON(name string, cells []*cell) error {
	text, err := json.MarshalIndent(cells, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(name, append(text, '\n'), 0o644)
}
