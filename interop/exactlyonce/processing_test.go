package exactlyonce

import (
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/skeinstream/skein/interop/internal/target"
	"github.com/skeinstream/skein/interop/kafka"
)

// brokers are those under test: both, unless one is chosen.
func brokers() []string {
	if os.Getenv(target.Env) != "" {
		return []string{target.Named()}
	}
	return []string{"skein", "kafka"}
}

// underTest is the client that does the work, followers are those that work
// downstream of it.
const underTest = "franz-go 1.22.3"

var followers = map[string]string{"java": "java 4.4.0", "franz": "franz-go 1.22.3"}

// TestProcessing: workers of ours are killed, frozen, cut off and replaced, on
// both brokers, while exactly-once consumers of other libraries work on what they
// write.
func TestProcessing(t *testing.T) {
	clients, tools := prepare(t, func(goWorker string) (all []client) {
		for _, c := range allClients(goWorker) {
			if c.name == underTest || c.name == followers["java"] || c.name == followers["franz"] {
				all = append(all, c)
			}
		}
		return all
	})
	workers, err := named(clients, underTest)
	if err != nil {
		t.Fatal(err)
	}
	var lives errgroup.Group
	for _, broker := range brokers() {
		lives.Go(func() error {
			t.Run(underTest+" on "+broker, func(t *testing.T) { process(t, tools, broker, clients, workers) })
			return nil
		})
	}
	_ = lives.Wait()
}

// process: two workers; one is killed and stays away; both are cut off, each in
// its way, and come back; the network is gone for a moment; the broker is killed,
// alone and with a worker; both are frozen and taken for dead; one after the
// other is replaced; everything is killed; all works again and ends.
func process(t *testing.T, tools *kafka.Tools, broker string, clients, workers []client) {
	since := time.Now()
	l := newLife(t, tools, chosenSeed(), broker, workers, workers)
	l.connect(l.a, l.b)
	l.start(l.a, shortTransaction)
	l.start(l.b, longTransaction)
	for name, client := range followers {
		if c, err := named(clients, client); err == nil {
			l.follow(name, c[0])
		}
	}
	l.works(l.a)
	l.works(l.b)
	l.kill(l.a)
	l.progress("one is killed and stays away")
	l.start(l.a, longTransaction)
	l.works(l.a)
	l.partition(l.b, held)
	l.interrupt(l.a, reset)
	l.crash()
	l.partition(l.a, silent)
	l.interrupt(l.b, held)
	l.freeze(l.a, began)
	l.freeze(l.b, ending)
	l.crash(l.b)
	l.start(l.b, shortTransaction)
	l.bounce(l.a)
	l.bounce(l.b)
	if long() {
		for range *rounds {
			l.storm()
		}
	}
	l.still()
	l.start(l.a, longTransaction)
	l.start(l.b, longTransaction)
	l.works(l.a)
	l.works(l.b)
	passed(t, l, strings.TrimSpace(workers[0].name+" on "+broker), l.finish(), since)
}
