package eossim

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// trace is what one client has sent and got. It belongs to the client's goroutine until the run is over.
type trace struct {
	name  string
	steps []step
}

// step is one request and what came of it.
type step struct {
	sent, got time.Duration
	key       int16
	version   int16
	fate      fateOf
	code      int16 // of the answer, when there was one
	err       error
	about     string
}

func (s step) String() string {
	what := "ok"
	switch {
	case s.err != nil:
		what = s.err.Error()
	case s.code != 0:
		what = kerr.TypedErrorForCode(s.code).Message
	}
	return fmt.Sprintf("%12v %12v %s v%d %s: %s %s", s.sent, s.got, kmsg.NameForKey(s.key), s.version, s.about, what, s.fate)
}

func (t *trace) add(s step) { t.steps = append(t.steps, s) }

// hash is that of everything that was sent and got. Clients that are there at the same time are put in the order of their names.
func hash(traces []*trace) string {
	sorted := slices.Clone(traces)
	slices.SortStableFunc(sorted, func(a, b *trace) int { return strings.Compare(a.name, b.name) })
	h := sha256.New()
	for _, t := range sorted {
		fmt.Fprintln(h, t.name)
		for _, s := range t.steps {
			fmt.Fprintln(h, int64(s.sent), int64(s.got), s.key, s.version, int(s.fate), s.code, s.err, s.about)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// Print writes what every client has sent and got, in the order of time.
func (r *Result) Print(to io.Writer) {
	type line struct {
		at   time.Duration
		text string
	}
	var all []line
	for _, t := range r.clients {
		for _, s := range t.steps {
			all = append(all, line{s.sent, fmt.Sprintf("%-10s %v", t.name, s)})
		}
	}
	for _, at := range r.History.Starts {
		all = append(all, line{at, fmt.Sprintf("%-10s %12v", "a broker", at)})
	}
	slices.SortFunc(all, func(a, b line) int { return cmp.Or(cmp.Compare(a.at, b.at), strings.Compare(a.text, b.text)) })
	for _, l := range all {
		fmt.Fprintln(to, l.text)
	}
}
