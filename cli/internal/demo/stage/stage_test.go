//go:build synctests

package stage

import (
	"context"
	"maps"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/skeinstream/skein/cli/internal/demo/story"
	"github.com/skeinstream/skein/internal/ownership"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// theatre is a play on a broker of its own, on fake time, and what has been told of it.
type theatre struct {
	*Play
	told []story.Event
}

// opened plays with more settings of the broker. Directories are below the test's own, so that what stays behind is seen.
func opened(t *testing.T, pace time.Duration, more map[string]string) *theatre {
	t.Helper()
	h := &theatre{}
	all := settings()
	all["skein.durability"] = "os" // nobody cuts the power here
	maps.Copy(all, more)
	cfg := Config{Name: "demo", Pace: pace, Every: 200 * time.Millisecond, Watch: func(e story.Event) { h.told = append(h.told, e) }}
	play, err := open(t.Context(), cfg, all)
	if err != nil {
		t.Fatal(err)
	}
	h.Play = play
	return h
}

// ends closes the play, and looks whether anything is left.
func (h *theatre) ends(t *testing.T) {
	t.Helper()
	if err := h.Close(); err != nil {
		t.Errorf("closing: %v", err)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func inBubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	synctest.Test(t, f)
}

// phase is what an act has come to.
func phase(t *testing.T, v ownership.Verdict, title string) ownership.Phase {
	t.Helper()
	for _, p := range v.Phases {
		if p.Name == title {
			return p
		}
	}
	t.Fatalf("no act %q", title)
	return ownership.Phase{}
}

// C26, R-C11, R-C14, R-C15: up in one bounce, with both codes in the group, down in one bounce, with deaths and a start of the broker in
// between. In clean acts nothing is handled twice, at no time has a partition two owners, nothing is lost.
func TestUpAndDownInOneBounceEach(t *testing.T) {
	for _, pace := range []time.Duration{0, 2 * time.Second} {
		upAndDown(t, pace)
	}
}

func upAndDown(t *testing.T, pace time.Duration) {
	t.Helper()
	inBubble(t, func(t *testing.T) {
		h := opened(t, pace, nil)
		defer h.ends(t)
		v, err := h.Run(t.Context())
		if err != nil || !v.Good() {
			t.Fatalf("%v, %q", err, v.Wrongs)
		}
		if len(v.Phases) != 8 || v.Overlaps != 0 || v.Lost != 0 || v.Records == 0 || v.Commits == 0 {
			t.Errorf("%+v", v)
		}
		for _, p := range v.Phases {
			if p.Clean && p.Duplicates != 0 {
				t.Errorf("%q: %d records were handled twice", p.Name, p.Duplicates)
			}
		}
		if p := phase(t, v, "one rolling bounce to the new code"); p.Stopped != story.Partitions || p.Assignor != "cooperative-sticky" {
			t.Errorf("under EAGER everything stops: %+v", p)
		}
		// Who is not touched is not stopped.
		for _, title := range []string{"kill -9 of a member", "kill -9 of the leader", "a new process in its place"} {
			if p := phase(t, v, title); p.Stopped != story.Partitions/story.Members {
				t.Errorf("under COOPERATIVE more stops than has to: %+v", p)
			}
		}
		if p := phase(t, v, "the broker starts again"); p.Stopped != 0 || p.Generations != 0 {
			t.Errorf("a start of the broker is felt by the group: %+v", p)
		}
		if p := phase(t, v, "kill -9 of a member"); p.Longest < 5*time.Second {
			t.Errorf("the member that was killed has said so: %+v", p)
		}
		h.judgedAgain(t, v)
	})
}

// judgedAgain: the events that were told are all there is to a verdict.
func (h *theatre) judgedAgain(t *testing.T, v ownership.Verdict) {
	t.Helper()
	var history []ownership.Event
	for _, e := range h.told {
		history = append(history, e.Event)
	}
	again := ownership.Judge(history, nil)
	if again.Records != v.Records || again.Duplicates != v.Duplicates || again.Generations != v.Generations || len(again.Phases) != len(v.Phases) {
		t.Errorf("%+v, and again %+v", v, again)
	}
}

// R-C21: a broker that does not admit old members, as Kafka does not, is found out, and the way back has two bounces.
func TestTheWayBackOnABrokerThatRefusesOldCode(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := opened(t, 0, map[string]string{unionAdmission: "false"})
		defer h.ends(t)
		v, err := h.Run(t.Context())
		if err != nil || !v.Good() {
			t.Fatalf("%v, %q", err, v.Wrongs)
		}
		if p := phase(t, v, "a bounce to [range, cooperative-sticky]"); p.Assignor != "range" || p.Duplicates != 0 {
			t.Errorf("%+v", p)
		}
	})
}

// A play that goes wrong is found to have: here old code is started where the broker refuses it (R-C10, M11).
func TestABadPlayHasABadVerdict(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := opened(t, 0, map[string]string{unionAdmission: "false"})
		defer h.ends(t)
		h.state = story.NewState(story.Script(story.Cluster{Admits: true}))
		v, err := h.Run(t.Context())
		if err != nil || v.Good() {
			t.Fatalf("%v, %+v", err, v)
		}
		if text := strings.Join(v.Wrongs, "; "); !strings.Contains(text, "INCONSISTENT_GROUP_PROTOCOL") && !strings.Contains(text, "old-1") {
			t.Error(text)
		}
	})
}

// Whenever it is interrupted, nothing is left: no goroutine (the bubble sees to that), no file.
func TestItCanBeInterruptedAtAnyTime(t *testing.T) {
	for _, after := range []time.Duration{0, 100 * time.Millisecond, 7500 * time.Millisecond, 22 * time.Second} {
		inBubble(t, func(t *testing.T) {
			h := opened(t, 2*time.Second, nil)
			defer h.ends(t)
			ctx, cancel := context.WithTimeout(t.Context(), after)
			defer cancel()
			if _, err := h.Run(ctx); err == nil {
				t.Errorf("interrupted after %v, and it has come to its end", after)
			}
		})
	}
}
