package cli

import (
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// progress shows on standard error how far a long operation has come: one
// line, rewritten in place, only for people who wait. The zero of visible
// output is a progress that nobody sees.
type progress struct {
	w       io.Writer
	now     func() time.Time
	started time.Time
	verb    string // what happens to the records: "acknowledged"

	records, bytes atomic.Int64
	stage          atomic.Pointer[string] // what is being done, where it is not records that are counted

	stop sync.WaitGroup
	quit chan struct{}
}

const progressEvery = 500 * time.Millisecond

// newProgress starts showing progress when somebody may look; end it with end.
func (a *app) newProgress(verb string) *progress {
	p := &progress{w: a.env.Stderr, now: a.env.Now, started: a.env.Now(), verb: verb, quit: make(chan struct{})}
	if a.progress || isTerminal(a.env.Stderr) && !a.json {
		p.stop.Go(p.run)
	}
	return p
}

func (p *progress) run() {
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	shown := false
	for {
		select {
		case <-tick.C:
			fmt.Fprintf(p.w, "\r%s\x1b[K", p.line())
			shown = true
		case <-p.quit:
			if shown {
				fmt.Fprint(p.w, "\r\x1b[K")
			}
			return
		}
	}
}

// end clears the line and waits until nothing more is written.
func (p *progress) end() {
	close(p.quit)
	p.stop.Wait()
}

func (p *progress) add(records, bytes int64) {
	p.records.Add(records)
	p.bytes.Add(bytes)
}

// took is how long it has taken, in three digits.
func (p *progress) took() time.Duration {
	d := p.now().Sub(p.started)
	for unit := time.Microsecond; unit < time.Second; unit *= 10 {
		if d < 1000*unit {
			return d.Round(unit)
		}
	}
	return d.Round(time.Second)
}

func (p *progress) seconds() float64 { return p.now().Sub(p.started).Seconds() }

// begin names the stage that runs from here on, in place of records.
func (p *progress) begin(stage string) { p.stage.Store(&stage) }

func (p *progress) line() string {
	if stage := p.stage.Load(); stage != nil {
		return fmt.Sprintf("%s, %s so far", *stage, p.took())
	}
	records, bytes := p.records.Load(), p.bytes.Load()
	rate := float64(records) / max(p.seconds(), 0.001)
	return fmt.Sprintf("%s %s, %s, %.0f records/s", count(records, "record"), p.verb, bytesText(bytes), rate)
}

// isTerminal says whether a person may be looking.
func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
