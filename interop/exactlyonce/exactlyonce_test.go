package exactlyonce

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/skeinstream/skein/interop/internal/report"
	"github.com/skeinstream/skein/interop/internal/skein"
	"github.com/skeinstream/skein/interop/internal/target"
	"github.com/skeinstream/skein/interop/kafka"
)

var (
	atOnce = flag.Int("atonce", 3*runtime.NumCPU(), "how many groups work side by side; mostly they wait for timeouts")
	only   = flag.String("only", "", "clients whose names contain this")
	seed   = flag.Uint64("seed", 0, "of the moments to kill at; 0 chooses one")
	rounds = flag.Int("rounds", 12, "how many more kills the long form has")
)

// envLong set to 1 chooses the long form.
const envLong = "SKEIN_INTEROP_LONG"

func long() bool { return os.Getenv(envLong) == "1" }

func chosenSeed() uint64 { return cmp.Or(*seed, uint64(time.Now().UnixNano())) }

func TestMain(m *testing.M) { report.Main(m) }

// TestExactlyOnceUnderKills: each client by itself, and groups of several.
func TestExactlyOnceUnderKills(t *testing.T) {
	clients, tools := prepare(t, allClients)
	var lives errgroup.Group
	lives.SetLimit(*atOnce)
	start := func(name string, a, b []client) {
		lives.Go(func() error { t.Run(name, func(t *testing.T) { live(t, tools, a, b) }); return nil })
	}
	for _, m := range mixes {
		if !chosen(m.name) {
			continue
		}
		if a, errA := named(clients, m.a...); errA == nil {
			if b, errB := named(clients, m.b...); errB == nil {
				start(m.name, a, b)
				continue
			}
		}
		report.Note(t, report.Lacks, m.name, "one of %v, %v is missing", m.a, m.b)
	}
	for _, c := range clients {
		if !chosen(c.name) {
			continue
		}
		start(c.name, []client{c}, []client{c})
	}
	_ = lives.Wait()
}

func chosen(name string) bool { return strings.Contains(name, *only) }

// mixes are groups whose workers are of several clients, one after the other,
// that find each other's transactions open.
var mixes = []struct {
	name string
	a, b []string
}{
	{"mixed clients", []string{"java 4.4.0", "confluent-kafka", "franz-go", "java 2.8.2"}, []string{"confluent-kafka", "franz-go", "java 3.9.1"}},
	{"mixed clients and skein", []string{ours, "java 4.4.0", "franz-go"}, []string{"confluent-kafka", ours, "java 2.8.2"}},
	{"mixed clients that fence by partition and skein", []string{oursByPartition, "java 2.3.1"}, []string{"sarama", oursByPartition}},
	{"mixed clients that fence by partition", []string{"java 2.3.1", "sarama"}, []string{"sarama", "java 2.3.1"}},
}

// prepare installs and builds all that can be had, once.
func prepare(t *testing.T, clients func(goWorker string) []client) (had []client, tools *kafka.Tools) {
	t.Helper()
	built, err := skein.Build(t.Context(), t)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(skein.EnvBinary, built)
	if installed, err := kafka.Install(t.Context(), kafka.V4); err != nil {
		report.MissingPeer(t, "kafka-console-consumer "+kafka.V4, err)
	} else {
		tools = &installed
	}
	goWorker, err := buildGoWorker(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range clients(goWorker) {
		if _, err := c.command(t.Context()); err != nil {
			report.MissingPeer(t, c.name, err)
			continue
		}
		if c.lacks != "" {
			report.Note(t, report.Lacks, c.name+", exactly once", "%s", c.lacks)
		}
		report.Note(t, report.Run, c.name, "consume, transform, produce")
		had = append(had, c)
	}
	return had, tools
}

// live: two workers; one is killed and stays away, so that its transaction times
// out; the broker is killed; the one comes back, is killed in its transaction
// and comes back at once; the broker is killed together with the other; one, and
// then the other, is frozen and taken for dead; everything is killed; all works
// again and ends.
func live(t *testing.T, tools *kafka.Tools, a, b []client) {
	since := time.Now()
	l := newLife(t, tools, chosenSeed(), target.Named(), a, b)
	l.start(l.a, shortTransaction)
	l.start(l.b, longTransaction)
	l.works(l.a)
	l.works(l.b)
	l.kill(l.a)
	l.progress("one is killed and stays away")
	l.crash()
	l.start(l.a, longTransaction)
	l.works(l.a)
	l.kill(l.a)
	l.start(l.a, longTransaction)
	l.works(l.a)
	l.progress("the broker is killed, and one that comes back at once")
	l.crash(l.b)
	l.start(l.b, shortTransaction)
	l.works(l.b)
	l.freeze(l.a, began)
	l.freeze(l.b, ending)
	if long() {
		for range *rounds {
			l.round()
		}
	}
	l.still()
	l.start(l.a, longTransaction)
	l.start(l.b, longTransaction)
	l.works(l.a)
	l.works(l.b)
	name := l.a.clients[0].name
	if len(l.a.clients) > 1 {
		_, name, _ = strings.Cut(t.Name(), "/")
		name = strings.ReplaceAll(name, "_", " ")
	}
	passed(t, l, name, l.finish(), since)
}

func passed(t *testing.T, l *life, name string, records int, since time.Time) {
	t.Helper()
	if t.Failed() {
		return
	}
	ends := l.seen.total(l.slots()...)
	transactions := fmt.Sprintf("%d %s committed, %d aborted, %d cut off", ends[committed], cmp.Or(l.a.client().unit, "transactions"), ends[aborted], ends[""])
	if len(l.a.client().moments) == 1 {
		transactions = "its own transactions and state"
	}
	more := ""
	if l.cuts+l.bounces > 0 {
		more = fmt.Sprintf(", cut off %d, replaced %d", l.cuts, l.bounces)
	}
	report.Note(t, report.Shown, "exactly once, "+name, "%d records, %s; workers killed %d times, frozen %d%s, the broker killed %d times, %d workers gave up",
		records, transactions, l.kills, l.freezes, more, l.crashes, l.a.gaveUp+l.b.gaveUp)
	t.Logf("in %v", time.Since(since).Round(100*time.Millisecond))
}
