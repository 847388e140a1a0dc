package main

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/skeinstream/skein/bench/internal/result"
)

// write makes the tables, behind the bars.
func (m *measurement) write(out io.Writer, machine string) {
	fmt.Fprintf(out, "%s. Medians of %d; commits each %v; others disturbed %d workers or fleets.\n\n", machine, m.options.rounds, m.interval, m.quiet.Disturbed)
	m.writeBars(out)
	for _, broker := range m.brokers {
		m.writeCopies(out, broker)
		m.writeFleets(out, broker)
	}
}

// heading begins a table of so many columns.
func heading(out io.Writer, title string, columns ...string) {
	fmt.Fprintf(out, "\n%s\n\n| %s |\n| --- |%s\n", title, strings.Join(columns, " | "), strings.Repeat(" ---: |", len(columns)-1))
}

func (m *measurement) writeCopies(out io.Writer, broker result.Peer) {
	begun := false
	for _, c := range copiers() {
		of := func(client, column string) float64 { return m.found.median(key{string(broker), client, 1, column}) }
		if math.IsNaN(of(c.name, rateOf)) {
			continue
		}
		if !begun {
			heading(out, fmt.Sprintf("One worker copies records of %d B, on %s", recordSize, broker.Title()), "worker", "k/s", "of at least once",
				"worker CPU a million (s)", "broker CPU a million (s)", "Produce a thousand", "Fetch a thousand", "latency p50 (ms)", "p99 (ms)")
			begun = true
		}
		part := result.Number(of(c.name, rateOf) / of(c.without, rateOf))
		if c.name == ours && of(c.name, rateOf)/of(c.without, rateOf) < share {
			part = "**" + part + "**"
		}
		fmt.Fprintf(out, "| %s | %s | %s |", c.name, result.Number(of(c.name, rateOf)/1000), part)
		for _, column := range []string{workerCPU, brokerCPU, produces, fetches, latency50, latency99} {
			fmt.Fprintf(out, " %s |", result.Number(of(c.name, column)))
		}
		fmt.Fprintln(out)
	}
}

func (m *measurement) writeFleets(out io.Writer, broker result.Peer) {
	begun := false
	for _, workers := range m.options.workers {
		for _, c := range fleetClients() {
			of := func(column string) float64 { return m.found.median(key{string(broker), c.name, workers, column}) }
			if math.IsNaN(of(producers)) {
				continue
			}
			if !begun {
				heading(out, fmt.Sprintf("Workers share %d partitions, %d records a second to each, on %s", m.size.partitions, fleetRate, broker.Title()),
					"workers", "of", "producers", "InitProducerId", "AddPartitionsToTxn/s", "AddOffsetsToTxn/s", "TxnOffsetCommit/s", "EndTxn/s", "all requests/s",
					"a thousand records", "connections", "broker CPU (%)", "workers' CPU (%)", "workers' memory (MB)", "copied/s")
				begun = true
			}
			fmt.Fprintf(out, "| %d | %s |", workers, c.name)
			for _, column := range []string{producers, inits, addingParts, addingOffs, offsetsOf, endings, requests} {
				fmt.Fprintf(out, " %.0f |", of(column))
			}
			fmt.Fprintf(out, " %s | %.0f | %.0f | %.0f | %.0f | %.0f |\n", result.Number(of(perThousand)), of(connections),
				100*of(brokerShare), 100*of(workerShare), of(resident), of(copiedRate))
		}
	}
}
