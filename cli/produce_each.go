package cli

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/skeinstream/skein/cli/internal/problem"
)

// acknowledged is a line of --each with --json: where a record went.
type acknowledged struct {
	Event     string `json:"event"` // acknowledged
	File      string `json:"file,omitempty"`
	Line      int    `json:"line"`
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"` // -1: with --acks 0 nobody tells
	Timestamp int64  `json:"timestamp"`
}

// summaryLine is the last line then.
type summaryLine struct {
	Event string `json:"event"` // summary
	produceSummary
}

// eachWriter tells of each record when it is acknowledged. Nil tells nothing.
type eachWriter struct {
	json   bool
	encode func(io.Writer, any) error

	mu     sync.Mutex // what follows
	out    io.Writer
	failed error
}

func newEachWriter(a *app, wanted bool) *eachWriter {
	if !wanted {
		return nil
	}
	return &eachWriter{json: a.json, encode: a.encodeLine, out: a.env.Stdout}
}

func (e *eachWriter) tell(at failure, r *kgo.Record) {
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.failed != nil {
		return
	}
	var err error
	if e.json {
		err = e.encode(e.out, acknowledged{"acknowledged", at.source.name, at.line, r.Topic, r.Partition, r.Offset, r.Timestamp.UnixMilli()})
	} else {
		_, err = fmt.Fprintf(e.out, "%s %d %d\n", r.Topic, r.Partition, r.Offset)
	}
	if err != nil {
		e.failed = fmt.Errorf("writing the output: %w", err)
	}
}

func (e *eachWriter) err() error {
	if e == nil {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.failed
}

// pace spreads records evenly: so many a second, counted from the first. Zero does not hold up anything.
type pace struct {
	rate  float64
	began time.Time
	n     int64
}

// wait waits for the next record's time, or for the end of ctx.
func (p *pace) wait(ctx context.Context) {
	if p.rate <= 0 {
		return
	}
	if p.n == 0 {
		p.began = time.Now()
	}
	due := p.began.Add(time.Duration(float64(p.n) / p.rate * float64(time.Second)))
	p.n++
	timer := time.NewTimer(time.Until(due))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func checkRate(rate float64) error {
	if rate < 0 {
		return problem.Usage("give records a second, such as 100 or 0.5", "--rate %v is negative", rate)
	}
	return nil
}
