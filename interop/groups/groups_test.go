package groups

import (
	"flag"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/skeinstream/skein/interop/internal/member"
	"github.com/skeinstream/skein/interop/internal/report"
	"github.com/skeinstream/skein/interop/internal/skein"
)

var (
	atOnce = flag.Int("atonce", 3*runtime.NumCPU(), "how many groups live side by side; mostly they wait for timeouts")
	only   = flag.String("only", "", "clients whose names contain this")
)

func TestMain(m *testing.M) { report.Main(m) }

// TestGroupsOfEveryClientLiveThroughEverything: each client with each assignor
// that it has, and with static members.
func TestGroupsOfEveryClientLiveThroughEverything(t *testing.T) {
	clients := prepare(t)
	var lives errgroup.Group
	lives.SetLimit(*atOnce)
	for _, c := range clients {
		for _, assignor := range c.Assignors {
			lives.Go(func() error { t.Run(c.Name+"/"+assignor, func(t *testing.T) { live(t, c, assignor) }); return nil })
		}
		if c.Static {
			lives.Go(func() error { t.Run(c.Name+"/static", func(t *testing.T) { liveStatic(t, c) }); return nil })
		}
	}
	_ = lives.Wait()
}

// prepare installs and builds all that can be had, once.
func prepare(t *testing.T) []member.Client {
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
	var had []member.Client
	for _, c := range member.All(goMember, built) {
		if !strings.Contains(c.Name, *only) {
			continue
		}
		if _, err := c.Command(t.Context()); err != nil {
			report.MissingPeer(t, c.Name, err)
			continue
		}
		if c.Lacks != "" {
			report.Note(t, report.Lacks, c.Name+" in groups", "%s", c.Lacks)
		}
		report.Note(t, report.Run, c.Name, "in groups")
		had = append(had, c)
	}
	return had
}

// live: two members, a third, one leaves, the broker starts again, one is
// killed and another comes, all stop, two others take up where they were.
func live(t *testing.T, c member.Client, assignor string) {
	began := time.Now()
	l := newLife(t, assignor, false)
	l.start(c, "a")
	l.start(c, "b")
	l.await("two members", "a", "b")
	l.start(c, "c")
	l.await("a member joins later", "a", "b", "c")
	l.leave("b")
	l.await("one leaves", "a", "c")
	l.restart()
	l.kill("c")
	l.start(c, "d")
	l.await("one is killed", "a", "d")
	l.stopAll("a", "d")
	l.start(c, "e")
	l.start(c, "f")
	l.await("the group starts again", "e", "f")
	passed(t, c.Name, assignor, l.finish("e", "f"), began)
}

// liveStatic: members that leave and are killed come back within their session,
// and nobody else notices.
func liveStatic(t *testing.T, c member.Client) {
	began := time.Now()
	l := newLife(t, c.Assignors[0], true)
	l.start(c, "a")
	l.start(c, "b")
	l.start(c, "c")
	l.await("three members", "a", "b", "c")
	before := l.seen.Count("a")
	l.leave("c")
	l.startAs(c, "c2", "c")
	l.await("one stops and starts", "a", "b", "c2")
	l.kill("b")
	l.startAs(c, "b2", "b")
	l.await("one is killed and starts", "a", "b2", "c2")
	if after := l.seen.Count("a"); after != before {
		t.Errorf("a has got or given partitions %d times, while others were away for a moment", after-before)
	}
	l.restart()
	l.stopAll("a", "b2", "c2")
	l.startAs(c, "a3", "a")
	l.startAs(c, "b3", "b")
	l.startAs(c, "c3", "c")
	l.await("the group starts again", "a3", "b3", "c3")
	passed(t, c.Name, "static members", l.finish("a3", "b3", "c3"), began)
}

func passed(t *testing.T, who, how string, records int64, began time.Time) {
	t.Helper()
	if t.Failed() {
		return
	}
	report.Note(t, report.Shown, fmt.Sprintf("group of %s, %s", who, how), "%d records handled, one owner each, resumed where committed", records)
	t.Logf("in %v", time.Since(began).Round(100*time.Millisecond))
}
