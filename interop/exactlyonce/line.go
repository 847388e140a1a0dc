package exactlyonce

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
)

// line is a worker's network: all of its connections pass here, where they are
// cut.
type line struct {
	addr  string // where the worker finds the broker
	proxy *toxiproxy.Proxy
	cuts  []string // toxics that are in force
}

// outage is what befalls a line.
type outage string

const (
	silent outage = "silent" // what is sent is lost; connections end when it is over
	held   outage = "held"   // what is sent waits, and arrives when it is over, however late
	reset  outage = "reset"  // connections end, new ones at once
)

var outages = []outage{silent, held, reset}

// toxics are toxiproxy's names for them, and what they need to be told.
var toxics = map[outage]struct {
	kind       string
	attributes map[string]int
}{
	silent: {"timeout", map[string]int{"timeout": 0}},
	held:   {"latency", map[string]int{"latency": 3_600_000}}, // ms
	reset:  {"reset_peer", map[string]int{"timeout": 0}},
}

func newLine(t testing.TB, name, broker string) *line {
	t.Helper()
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	p := toxiproxy.NewProxy(server, name, "127.0.0.1:0", broker)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	return &line{addr: p.Listen, proxy: p}
}

// cut cuts the line, both ways.
func (l *line) cut(how outage) error {
	for _, direction := range []string{"upstream", "downstream"} {
		name := direction + " " + string(how)
		text, err := json.Marshal(map[string]any{
			"name": name, "type": toxics[how].kind, "stream": direction, "attributes": toxics[how].attributes,
		})
		if err != nil {
			return err
		}
		if _, err := l.proxy.Toxics.AddToxicJson(strings.NewReader(string(text))); err != nil {
			return fmt.Errorf("cutting a line: %w", err)
		}
		l.cuts = append(l.cuts, name)
	}
	return nil
}

// mend ends what has cut the line.
func (l *line) mend(ctx context.Context) (err error) {
	for _, name := range l.cuts {
		if removed := l.proxy.Toxics.RemoveToxic(ctx, name); removed != nil {
			err = errors.Join(err, fmt.Errorf("mending a line: %w", removed))
		}
	}
	l.cuts = nil
	return err
}
