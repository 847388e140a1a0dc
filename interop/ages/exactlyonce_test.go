package ages

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/skeinstream/skein/exactlyonce"
	"github.com/skeinstream/skein/internal/fleet"
	"github.com/skeinstream/skein/interop/internal/report"
	"github.com/skeinstream/skein/interop/kafka"
	"github.com/skeinstream/skein/producer"
)

// way is a program that a fleet may run.
type way func(fleet.Job) fleet.Program

func old(j fleet.Job) fleet.Program { return j.Old }

func ours(producers exactlyonce.Producers, upgradeFrom string) way {
	return func(j fleet.Job) fleet.Program { return j.Processing(producers, upgradeFrom) }
}

// zombie is a member that is taken for dead and wakes up, and what refuses it.
type zombie struct {
	name    string
	named   bool   // its offsets name its generation
	from    string // its UpgradeFrom
	next    way
	refused error // nil is nothing
}

// sights are what is to be seen at a broker.
type sights struct {
	release string
	refuses bool // programs with one producer for each process
	zombies []zombie
	steps   []way
}

func all() []sights {
	perMember, perPartition, oldBroker := ours(exactlyonce.OnePerMember, ""), ours(exactlyonce.OnePerPartition, ""), ours(exactlyonce.OnePerPartition, "2.4")
	since := []zombie{
		{"old-beside-one-producer", false, "", perMember, nil},
		{"named-beside-one-producer", true, "2.4", perMember, producer.ErrGroupMoved},
		{"old-beside-the-first-step", false, "", perPartition, producer.ErrFenced},
		{"named-beside-old", true, "", old, producer.ErrFenced},
	}
	there := []way{old, perPartition, perMember, perPartition, old}
	return []sights{
		{kafka.V2, true, []zombie{{"old-beside-upgrade-from", false, "", oldBroker, producer.ErrFenced}, {"upgrade-from-beside-old", true, "2.4", old, producer.ErrFenced}}, []way{old, oldBroker, old}},
		{kafka.V3, false, since, there},
		{kafka.V4, false, since, there},
	}
}

// TestBrokersOfEveryAge is R-F5, R-F9, R-F12, R-F13 and R-F14 at real brokers.
func TestBrokersOfEveryAge(t *testing.T) {
	builds(t)
	whole := shows(t.Context(), t, emulating(t, ""))
	for _, s := range all() {
		t.Run(s.release, func(t *testing.T) {
			t.Parallel()
			addr := kafkaOf(t, s.release)
			t.Run("side by side", func(t *testing.T) {
				t.Run("shown", func(t *testing.T) { t.Parallel(); holdsToKafka(t, s.release, addr, whole) })
				t.Run("refusal", func(t *testing.T) { t.Parallel(); refusal(newTown(t, addr, "refusal", 1), s.refuses) })
				t.Run("fleet", func(t *testing.T) { t.Parallel(); bounced(newTown(t, addr, "fleet", 4), s.steps) })
				for _, z := range s.zombies {
					t.Run(z.name, func(t *testing.T) { t.Parallel(); wakes(newTown(t, addr, z.name, 1), z) })
				}
			})
			if !t.Failed() {
				report.Note(t, report.Run, "exactly once on kafka "+s.release, "a fleet bounced through %d programs, %d zombies", len(s.steps), len(s.zombies))
			}
		})
	}
}

// refusal is what one producer for each process meets: at once, and nothing has moved; or nothing.
func refusal(w *town, refused bool) {
	w.writes(5)
	m := w.runs(ours(exactlyonce.OnePerMember, "")(w.job))
	if !refused {
		w.awaits("one producer for each process")
		m.ends()
		w.judges()
		return
	}
	err := <-m.done
	if !errors.Is(err, producer.ErrCannotFence) || !strings.Contains(err.Error(), "Kafka 2.4") || !strings.Contains(err.Error(), "UpgradeFrom") {
		w.Fatalf("it ended with %v", err)
	}
	w.Log(err)
	outputs, err := fleet.Outputs(w.ctx, w.cluster, w.job.To)
	w.ok(err)
	at, err := w.job.Reached(w.ctx, w.cluster)
	w.ok(err)
	if len(outputs) != 0 || len(at) != 0 {
		w.Errorf("%d outputs, and the group is at %v", len(outputs), at)
	}
}

// bounced restarts two members one by one, from program to program, under load.
func bounced(w *town, steps []way) {
	w.writes(5)
	members := []*member{w.runs(steps[0](w.job)), w.runs(steps[0](w.job))}
	w.awaits("the first program")
	for _, step := range steps[1:] {
		for i, m := range members {
			w.writes(3)
			m.ends()
			members[i] = w.runs(step(w.job))
			w.writes(3)
			w.awaits("a step")
		}
	}
	for _, m := range members {
		m.ends()
	}
	w.judges()
}

// wakes has a zombie commit when the group has gone on.
func wakes(w *town, z zombie) {
	w.writes(5)
	fallen, err := w.job.Falls(w.ctx, fleet.NewLine(w.cluster), z.from)
	w.ok(err)
	w.writes(5)
	began := time.Now()
	next := w.runs(z.next(w.job))
	w.awaits("the zombie's successor")
	if err := fallen.Wakes(w.ctx, z.named); !errors.Is(err, z.refused) {
		w.Errorf("the zombie's commit ended with %v, want %v", err, z.refused)
	}
	next.ends()
	w.Logf("the group went on after %v", time.Since(began).Round(time.Millisecond))
	if z.refused != nil {
		w.judges()
		return
	}
	outputs, err := fleet.Outputs(w.ctx, w.cluster, w.job.To)
	w.ok(err)
	at, err := w.job.Reached(w.ctx, w.cluster)
	w.ok(err)
	if at[0] != 5 || outputs[fleet.Value(0, 0)] != 2 {
		w.Errorf("the group is at %d, and the first output is there %d times: is the first step not needed any more?", at[0], outputs[fleet.Value(0, 0)])
	}
}
