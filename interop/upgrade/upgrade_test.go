package upgrade

import (
	"cmp"
	"flag"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/skeinstream/skein/interop/internal/member"
	"github.com/skeinstream/skein/interop/internal/report"
	"github.com/skeinstream/skein/interop/internal/skein"
	"github.com/skeinstream/skein/interop/internal/target"
)

var (
	atOnce = flag.Int("atonce", 2*runtime.NumCPU(), "how many groups live side by side; their processes take most of the time to start")
	only   = flag.String("only", "", "scenarios whose names contain this")
)

func TestMain(m *testing.M) { report.Main(m) }

// brokers are those under test: both, unless one is chosen.
func brokers() []string {
	if os.Getenv(target.Env) != "" {
		return []string{target.Named()}
	}
	return []string{"skein", "kafka"}
}

// run is all that a test needs: clients, and brokers that several groups share.
type run struct {
	clients []member.Client
	worlds  map[string]*world // that groups share who do not start their broker again
}

func newRun(t *testing.T) *run {
	t.Helper()
	built, err := skein.Build(t.Context(), t)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(skein.EnvBinary, built)
	goMember, err := member.BuildGo(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &run{clients: member.All(goMember, built), worlds: map[string]*world{}}
}

// client is one that can be had here.
func (r *run) client(t *testing.T, name string) member.Client {
	t.Helper()
	c, err := member.Named(r.clients, name)
	if err == nil {
		_, err = c.Command(t.Context())
	}
	if err != nil {
		report.MissingPeer(t, name, err)
		t.SkipNow()
	}
	report.Note(t, report.Run, c.Name, "in groups")
	return c
}

// scenario is one life.
type scenario struct {
	name     string
	alone    bool // it starts the broker again
	longOnly bool
	kafka    bool // it is about what only Kafka does
	play     func(t *testing.T, r *run, l *life)
}

func play(t *testing.T, all []scenario) {
	t.Helper()
	all = slices.DeleteFunc(all, func(s scenario) bool { return s.longOnly && !long() || !strings.Contains(s.name, *only) })
	r := newRun(t)
	if slices.ContainsFunc(all, func(s scenario) bool { return !s.alone }) {
		for _, broker := range brokers() {
			r.worlds[broker] = newWorld(t, broker)
		}
	}
	var lives errgroup.Group
	lives.SetLimit(*atOnce)
	for _, s := range all {
		for _, broker := range brokers() {
			if s.kafka && broker == "skein" {
				continue
			}
			lives.Go(func() error {
				t.Run(s.name+" on "+broker, func(t *testing.T) {
					w := r.worlds[broker]
					if s.alone {
						w = newWorld(t, broker)
					}
					s.play(t, r, newLife(t, w, strings.ReplaceAll(s.name, " ", "-")))
				})
				return nil
			})
		}
	}
	_ = lives.Wait()
}

// old is old code as it is by default.
func (r *run) old(t *testing.T, name string) code {
	t.Helper()
	assignors := map[string]string{
		"java 3.9.1": "range,cooperative-sticky", "java 4.4.0": "range,cooperative-sticky", "confluent-kafka": "range,roundrobin",
	}[name]
	return code{r.client(t, name), cmp.Or(assignors, "range")}
}

func (r *run) ours(t *testing.T) code { return code{r.client(t, "skein consumer"), oursDefault} }

// scenarios are all lives: with our consumer in one rolling bounce each way, and
// with stock clients, who take two.
func scenarios() (all []scenario) {
	olds := []string{"java 2.3.1", "java 2.8.2", "java 3.9.1", "java 4.4.0", "franz-go", "sarama", "confluent-kafka"}
	for _, old := range olds {
		all = append(all,
			scenario{name: "there and back " + old, longOnly: true, play: func(t *testing.T, r *run, l *life) { l.thereAndBack(r.old(t, old), r.ours(t)) }},
			scenario{name: "faults " + old, alone: true, longOnly: old != "confluent-kafka", play: func(t *testing.T, r *run, l *life) { l.faults(r.old(t, old), r.ours(t)) }},
		)
	}
	two := func(old, stock string) scenario {
		return scenario{name: "two bounces " + old + " to " + stock, longOnly: true, play: func(t *testing.T, r *run, l *life) {
			l.twoBounces(r.client(t, old), r.client(t, stock))
		}}
	}
	static := func(old string) scenario {
		return scenario{name: "static " + old, longOnly: true, play: func(t *testing.T, r *run, l *life) { l.statics(r.old(t, old), r.ours(t)) }}
	}
	return append(all, static("confluent-kafka"), static("java 2.3.1"), two("java 3.9.1", "java 3.9.1"), two("java 2.3.1", "java 4.4.0"), mixed("java", "range", "java 2.3.1", "java 2.8.2", "java 4.4.0"), mixed("others", "range", "franz-go", "confluent-kafka", "sarama"),
		mixed("cooperative", "cooperative-sticky", "java 3.9.1", "franz-go", "confluent-kafka"), command, newProtocol)
}

// newProtocol has a member of the new protocol come to a group of ours and of an EAGER Java client, and leave it again (M23).
var newProtocol = scenario{name: "the new protocol comes and goes", kafka: true, play: func(t *testing.T, r *run, l *life) {
	java := r.client(t, "java 4.4.0")
	l.newProtocol(r.ours(t), r.old(t, "java 4.4.0"), code{java, "consumer"})
}}

// command has the skein command in the place of a program of our consumer.
var command = scenario{name: "skein consume and franz-go", play: func(t *testing.T, r *run, l *life) {
	l.thereAndBack(r.old(t, "franz-go"), code{r.client(t, "skein consume --group"), oursDefault})
}}

func mixed(name, assignor string, old ...string) scenario {
	return scenario{name: "mixed " + name, play: func(t *testing.T, r *run, l *life) {
		var codes []code
		for _, o := range old {
			codes = append(codes, code{r.client(t, o), assignor})
		}
		l.mixed(r.ours(t), codes...)
	}}
}

// TestRollingBounces: from old clients to ours and back, on both brokers.
func TestRollingBounces(t *testing.T) { play(t, scenarios()) }
