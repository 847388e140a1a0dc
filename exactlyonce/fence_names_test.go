//go:build synctests

package exactlyonce

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/skeinstream/skein/consumer"
	"github.com/skeinstream/skein/internal/fence"
)

// Everybody publishes something, and listens. Whose id does not begin with the group's name is nobody's to fence.
func TestIDs(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	for _, c := range []struct {
		cfg   consumer.Config
		id    string
		want  string
		known bool // to who hears it
	}{
		{consumer.Config{Group: "g", InstanceID: "i"}, "", "g-i", true},
		{consumer.Config{Group: "g", InstanceID: strings.Repeat("i", 64)}, "", "g-" + strings.Repeat("i", 64), false},
		{consumer.Config{Group: "g", InstanceID: "i"}, "mine", "mine", false},
		{consumer.Config{Group: "g"}, "mine", "mine", false},
		{consumer.Config{Group: "g"}, "g-mine", "g-mine", true},
		{consumer.Config{Group: "g"}, "", "", true},
	} {
		f := newFencer(c.cfg, c.id, fenceTimeout, log)
		cfg := f.Consumer(c.cfg)
		if c.want == "" {
			c.want = fence.Name("g", cfg.Publish)
		}
		name := fence.Name("g", cfg.Publish)
		if f.ID() != c.want || f.ID() == "" || (name == f.ID()) != c.known || !c.known && name != "" || len(cfg.Publish) == 0 || cfg.Hooks.Roster == nil {
			t.Errorf("%+v, %q: it is %q, and publishes %x", c.cfg, c.id, f.ID(), cfg.Publish)
		}
	}
	one, two := newFencer(consumer.Config{Group: "g"}, "", fenceTimeout, log), newFencer(consumer.Config{Group: "g"}, "", fenceTimeout, log)
	if one.ID() == two.ID() {
		t.Errorf("two have the id %q", one.ID())
	}
}

// A leader that dies when it is about to fence has told the others whom, and the next one does it: of both.
func TestALeaderDiesBeforeItFences(t *testing.T) {
	for _, instances := range [][]string{{"", "", ""}, {"a", "b", "c"}} {
		inFenceWorld(t, func(w *fenceWorld) {
			var workers []*fenceWorker
			for i, instance := range instances {
				workers = append(workers, w.static(fmt.Sprint("worker ", i), instance, true))
				fencePass(5 * time.Second)
			}
			leader, first, last := workers[0], workers[1], workers[2]
			leader.f.Close() // so that it fences nobody
			first.begins()
			first.dies()
			fencePass(fenceSession + 2*time.Second)
			if !w.open() {
				t.Fatal("it has ended by itself")
			}
			leader.dies()
			fencePass(fenceSession + 2*time.Second)
			if w.open() {
				t.Error("the transaction of the first one that died is open still")
			}
			for _, k := range []*fenceWorker{last, leader, first} {
				k.close()
			}
		})
	}
}

// open says that a transaction is open in the output.
func (w *fenceWorld) open() bool {
	w.Helper()
	return (&world{t: w.T, b: w.b, admin: w.admin}).stands("out")
}

// A static member that is started again, as a program that publishes nothing, has the id of one that is missed: it lives, and is left alone.
func TestANameThatIsInUseIsNotFenced(t *testing.T) {
	inFenceWorld(t, func(w *fenceWorld) {
		a := w.static("a", "a", true)
		fencePass(5 * time.Second)
		b := w.static("b", "b", true)
		fencePass(5 * time.Second)
		b.dies()
		again := w.static("b again", "b", false)
		fencePass(5 * time.Second)
		again.begins()
		c := w.worker("c", true) // a round, in which b says nothing
		fencePass(5 * time.Second)
		w.ok(again.commits())
		for _, k := range []*fenceWorker{a, b, again, c} {
			k.close()
		}
	})
}

// What static members publish costs them nothing of what they are for: a restart begins no round (R-B15), and what was told of the others is heard again.
func TestAStaticRestartBeginsNoRound(t *testing.T) {
	inFenceWorld(t, func(w *fenceWorld) {
		a := w.static("a", "a", true)
		fencePass(5 * time.Second)
		b := w.static("b", "b", true)
		fencePass(10 * time.Second)
		before := a.GroupMetadata().Generation
		b.dies()
		fencePass(2 * time.Second)
		again := w.static("b again", "b", true)
		fencePass(10 * time.Second)
		if got := again.GroupMetadata().Generation; got != before || a.GroupMetadata().Generation != before || len(again.Assignment()) != 2 {
			t.Errorf("the generation was %d, and is %d; %v", before, got, again.Assignment())
		}
		a.begins()
		a.dies() // who leads dies for good, and the one that came back knows of it
		fencePass(fenceSession + 2*time.Second)
		if w.open() {
			t.Error("the transaction of the dead is open still")
		}
		for _, k := range []*fenceWorker{a, b, again} {
			k.close()
		}
	})
}
