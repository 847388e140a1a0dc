package eossim

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/skeinstream/skein/consumer/internal/eossim/cluster"
	"github.com/skeinstream/skein/consumer/internal/membership"
	"github.com/skeinstream/skein/internal/transaction"
)

// Result is what became of a run.
type Result struct {
	Violations []Violation
	Counts
	Trace string // what happened, if it was asked for
}

// seams are where a test makes what is shipped wrong, to see that it is found out. The zero value changes nothing.
type seams struct {
	on           bool                                            // the run goes on after the first violation
	request      func(m *member, req any)                        // before it is sent
	answer       func(s transaction.Step, a *transaction.Answer) // before the producer's machine hears it
	ignoreFailed bool                                            // records that are not written are not told of
	commits      bool                                            // what is lost is committed
	stays        bool                                            // nothing goes back after an abort
	cached       bool                                            // commits are in the name of the first generation
	dirty        bool                                            // records of transactions that are not decided are read
	spares       bool                                            // nobody is fenced
	nameless     bool                                            // instance ids are not looked at before that
}

// Run lives through a script. Trace has it written down, which takes a while.
func Run(s *Script, trace bool) *Result { return run(s, seams{}, trace) }

const (
	most    = 10                // violations of one run
	quiet   = 3 * time.Second   // after all has come to its end
	patient = 200 * time.Second // after the calm, and it never will
)

func run(s *Script, with seams, trace bool) *Result {
	w := newWorld(s, with, trace)
	w.produce()
	for _, l := range s.Lines {
		w.At(w.Start.Add(l.At), func() { w.do(l.Words) })
	}
	w.At(w.Start.Add(s.Calm), func() {
		w.Say("calm")
		w.net.Calm = true
		w.produce()
	})
	w.live(w.Start.Add(s.Calm))
	return &Result{Violations: w.judge.found, Counts: w.judge.counts, Trace: w.Trace()}
}

// live lets things happen until all has been at its end for long enough, or too much time has passed.
func (w *world) live(calm time.Time) {
	settled, look := calm, calm
	for len(w.judge.found) == 0 || w.seams.on && len(w.judge.found) < most {
		if !w.Next() {
			return
		}
		if !w.net.Calm || w.Now.Before(look) {
			continue
		}
		look = w.Now.Add(200 * time.Millisecond)
		missing := w.missing()
		switch {
		case missing != "":
			settled = w.Now
			if w.Now.After(calm.Add(patient)) {
				w.judge.violates("liveness", "%v after the last fault: %s", patient, missing)
				return
			}
		case w.Now.After(settled.Add(quiet)):
			if w.running() > 0 {
				w.judge.verdict()
			}
			return
		}
	}
}

// missing says what has not come to its end yet; "" when all has.
func (w *world) missing() string {
	for _, p := range w.order {
		if p.now == nil && !p.over {
			return p.name + " is to begin again"
		}
	}
	if w.running() == 0 {
		return ""
	}
	for _, at := range w.inputPartitions() {
		if l := w.cluster.Log(at); w.judge.committed[at] < l.End() {
			return fmt.Sprintf("the group is at %d of %d of %v", w.judge.committed[at], l.End(), at)
		}
	}
	for _, topic := range []string{outputTopic, lettersTopic} {
		for _, at := range w.cluster.Partitions(topic) {
			if l := w.cluster.Log(at); l.Stable() < l.End() {
				return fmt.Sprintf("%v is stable up to %d of %d", at, l.Stable(), l.End())
			}
		}
	}
	if len(w.judge.pending) > 0 {
		return "offsets are pending"
	}
	return ""
}

// running counts the processes that run.
func (w *world) running() (n int) {
	for _, p := range w.order {
		if p.now != nil {
			n++
		}
	}
	return n
}

// do is one line of the script.
func (w *world) do(words []string) {
	w.Say("> %s", strings.Join(words, " "))
	switch words[0] {
	case "start":
		if w.procs[words[1]] == nil {
			w.begin(words[1], w.spec(words[2:], spec{}))
		}
	case "failover":
		w.cluster.Fail(words[1] != "transactions", words[1] != "groups")
	case "partitions":
		n, _ := strconv.Atoi(words[2])
		w.setPartitions(words[1], int32(n))
	default:
		if p := w.procs[words[1]]; p != nil {
			w.doTo(p, words)
		}
	}
}

func (w *world) spec(words []string, was spec) spec {
	s, err := parseSpec(words, was)
	if err != nil {
		panic("eossim: " + err.Error())
	}
	return s
}

// doTo is a line about a process that is there.
func (w *world) doTo(p *process, words []string) {
	rest := words[2:]
	switch words[0] {
	case "twin":
		name := p.name + "'"
		for w.procs[name] != nil {
			name += "'"
		}
		w.begin(name, p.spec)
		return
	case "bounce", "kill":
		p.spec = w.spec(rest, p.spec)
	}
	m := p.now
	if m == nil {
		return
	}
	switch words[0] {
	case "bounce":
		p.stop()
		p.restart(300 * time.Millisecond)
	case "kill":
		p.kill()
	case "close":
		p.over = true
		p.stop()
	case "die":
		p.over = true
		p.kill()
		w.judge.dies(m)
	case "freeze":
		long, _ := time.ParseDuration(rest[0])
		m.life.Freeze(long, func() {})
	case "fence":
		w.fence(m.id)
	case "cut":
		m.cut()
	case "rejoin":
		m.life.Later(0, func() { m.feed(membership.Rejoin{Reason: "the user wishes it"}) })
	}
}

// fence takes a transactional id, as an operator does who fences its producers.
func (w *world) fence(id string) {
	w.cluster.Ask(w.somebody(), w.fencingOf(id), func(resp any) {
		w.Say("the operator hears %s", tell(resp))
	})
}

// somebody is no member.
func (w *world) somebody() cluster.Client {
	return cluster.Client{Life: w.net.Live(), ID: "operator"}
}
