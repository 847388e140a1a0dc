package exactlyonce

import (
	"os"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/skeinstream/skein/interop/internal/target"
	"github.com/skeinstream/skein/interop/kafka"
)

// brokers are those under test: in the long form both, unless one is chosen. A
// Kafka that was killed takes so long to be back on a small machine that stock
// followers give up.
func brokers() []string {
	switch {
	case os.Getenv(target.Env) != "":
		return []string{target.Named()}
	case long():
		return []string{"skein", "kafka"}
	}
	return []string{"skein"}
}

// followers are clients that work exactly once downstream.
var followers = map[string]string{"java": "java 4.4.0", "franz": "franz-go 1.22.3"}

// TestProcessing: programs of package exactlyonce are killed, frozen, cut off and
// replaced, while exactly-once consumers of other libraries work
// on what they write.
func TestProcessing(t *testing.T) {
	wanted := []string{ours, oursParallel, followers["java"], followers["franz"]}
	clients, tools := prepare(t, func(goWorker string) []client {
		return slices.DeleteFunc(allClients(goWorker), func(c client) bool { return !slices.Contains(wanted, c.name) })
	})
	var lives errgroup.Group
	for _, broker := range brokers() {
		lives.Go(func() error {
			t.Run(broker, func(t *testing.T) { process(t, tools, broker, clients) })
			return nil
		})
	}
	_ = lives.Wait()
}

// process: two workers. One is killed and stays away; both are cut off, each in
// its way, and come back; the network is gone for a moment; both are frozen and
// taken for dead; the broker is killed with a worker; one after the other is
// replaced; everything is killed; all works again and ends.
func process(t *testing.T, tools *kafka.Tools, broker string, clients []client) {
	since := time.Now()
	workers, err := named(clients, ours, oursParallel)
	if err != nil {
		t.Fatal(err)
	}
	l := newLife(t, tools, chosenSeed(), broker, workers, workers)
	l.connect(l.a, l.b)
	for name, client := range followers {
		if c, err := named(clients, client); err == nil {
			l.follow(name, c[0])
		}
	}
	l.start(l.a, forever)
	l.start(l.b, forever)
	l.works(l.a)
	l.works(l.b)
	l.kill(l.a)
	l.progress("one is killed and stays away")
	l.start(l.a, forever)
	l.works(l.a)
	l.partition(l.a, held)
	l.interrupt(l.a, reset)
	l.partition(l.b, silent)
	l.interrupt(l.b, held)
	l.freeze(l.a, ending)
	l.freeze(l.b, began)
	l.crash(l.b)
	l.start(l.b, forever)
	l.bounce(l.b, shortTransaction) // nobody will live on who could fence it
	l.bounce(l.a, shortTransaction)
	if long() {
		l.crash()
		for range *rounds {
			l.storm()
		}
	}
	l.still()
	l.start(l.a, shortTransaction)
	l.start(l.b, shortTransaction)
	l.works(l.a)
	l.works(l.b)
	passed(t, l, ours+" on "+broker, l.finish(), since)
	if l.a.gaveUp+l.b.gaveUp > 0 {
		t.Errorf("workers gave up: %q", l.gaveUp)
	}
}
