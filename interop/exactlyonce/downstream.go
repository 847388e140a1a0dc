package exactlyonce

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/skeinstream/skein/interop/internal/admin"
)

// follow has a client work exactly once on what a and b write: a group of its
// own, in which one worker follows the other.
func (l *life) follow(name string, c client) {
	l.t.Helper()
	s := &slot{name: name, clients: []client{c}, job: job{group: name, input: outputTopic, output: "ledger-" + name}}
	l.must(admin.CreateTopics(l.t.Context(), l.broker.Addr, partitions, nil, s.job.output))
	l.downstream = append(l.downstream, s)
	l.start(s, longTransaction)
}

// downstreamAgrees has the groups that follow catch up and leave, and judges
// what they have made of the outputs, which nobody adds to any more.
func (l *life) downstreamAgrees(e evidence) {
	l.t.Helper()
	last := map[int32]int64{}
	for _, o := range e.outputs {
		last[o.partition] = max(last[o.partition], o.offset)
	}
	for _, s := range l.downstream {
		l.await(s.name+" has handled every output", func() bool {
			offsets, err := l.offsets(s.job)
			for p, offset := range last {
				if err != nil || offsets[p] <= offset {
					return false
				}
			}
			return true
		})
	}
	l.leave(l.downstream...)
	for _, s := range l.downstream {
		records, open, err := reader{l.outputs.client, s.job.output}.committed(l.t.Context(), partitions)
		l.must(err)
		copies, err := parseAll(records, parseCopy)
		l.must(err)
		if wrongs := judgeCopies(e, copies, l.seen.claimsOf(s)); len(wrongs) > 0 || open > 0 {
			l.t.Errorf("downstream of it, %s, with %d records open: %s", s.name, open, summary(wrongs))
		}
	}
}

// derived is what a worker downstream has made of an output: a record of its own,
// whose text is the output's with WORKER ATTEMPT SIZE behind.
type derived struct {
	output
	of output // of which only what its text says is known
}

func parseCopy(partition int32, offset int64, text string) (d derived, err error) {
	words := strings.Fields(text)
	if len(words) != 8 {
		return d, fmt.Errorf("partition %d offset %d: %q is not made of an output", partition, offset, text)
	}
	var errOf, errOwn error
	d.of, errOf = parseOutput(partition, offset, strings.Join(words[:5], " "))
	d.output, errOwn = parseOutput(partition, offset, strings.Join(slices.Concat(words[:2], words[5:]), " "))
	return d, errors.Join(errOf, errOwn)
}

// judgeCopies judges what is made of all outputs by the same rules: each has one
// copy, in the same order. It is a copy of what is committed, and not of another
// attempt at the same input.
func judgeCopies(e evidence, copies []derived, claims map[string]map[int]claim) (wrongs []string) {
	type input struct {
		from   int32
		number int
	}
	committed := map[input]output{}
	for _, o := range e.outputs {
		committed[input{o.from, o.number}] = o
	}
	e.outputs, e.claims = nil, claims
	for _, c := range copies {
		e.outputs = append(e.outputs, c.output)
		if o := committed[input{c.from, c.number}]; o.worker != c.of.worker || o.attempt != c.of.attempt || o.size != c.of.size {
			wrongs = append(wrongs, fmt.Sprintf("%v is made of %s in %d of %d; committed is %v", c.output, c.of.worker, c.of.attempt, c.of.size, o))
		}
	}
	return append(wrongs, judge(e)...)
}

// franzVisible is the first count records that franz-go's consumer sees with
// read_committed.
func franzVisible(ctx context.Context, addr, topic string, partitions, count int) (all []map[int64]string, err error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	for range partitions {
		all = append(all, map[int64]string{})
	}
	for seen := 0; seen < count; {
		fetches := client.PollRecords(ctx, count-seen)
		if err := fetches.Err(); err != nil {
			return nil, fmt.Errorf("franz-go's consumer, after %d of %d records: %w", seen, count, err)
		}
		for _, r := range fetches.Records() {
			all[r.Partition][r.Offset] = string(r.Value)
			seen++
		}
	}
	return all, nil
}
