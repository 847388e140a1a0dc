package groupsim

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/skeinstream/skein/consumer/internal/membership"
	"github.com/skeinstream/skein/internal/simulation"
)

// Result is what became of a run.
type Result struct {
	Violations                    []Violation
	Rows                          map[string]int
	Generations, Processed, Twice int64
	Lost                          int    // callbacks that told of lost partitions
	Trace                         string // what happened, if it was asked for
}

// Run lives through a script. Trace has it written down, which takes a while.
func Run(s *Script, trace bool) *Result { return run(s, seams{}, trace) }

const (
	most    = 20                // violations of one run
	quiet   = 15 * time.Second  // without a new generation, and the group is settled
	patient = 200 * time.Second // after the calm, and it will never be
)

func run(s *Script, seams seams, trace bool) *Result {
	clock := simulation.NewClock(trace)
	start := clock.Start
	w := &world{
		Clock: clock, script: s, seams: seams, logs: map[partition]*log{}, procs: map[string]*process{},
		net: &simulation.Network{Clock: clock, Dice: simulation.NewDice(s.Seed, "network"), Lost: s.Lost, Twice: s.Twice, LateOnes: s.Late},
	}
	w.judge = judge{w: w, led: true, rows: map[string]int{}, ids: map[string]*life{}, lives: map[string]string{}, migration: migration{taken: map[partition]taken{}, expelled: map[string]bool{}}}
	for _, t := range s.Topics {
		w.setTopic(t.Name, t.Partitions)
	}
	w.co = newCoordinator(w)
	w.co.Begin()
	w.produce()
	for _, l := range s.Lines {
		w.At(start.Add(l.At), func() { w.do(l) })
	}
	w.At(start.Add(s.Calm), func() {
		w.Say("calm")
		w.net.Calm = true
		w.judge.disturbed()
	})
	w.live(start.Add(s.Calm))
	return w.result()
}

// live lets things happen until the group has been whole for long enough, or too much time has passed.
func (w *world) live(calm time.Time) {
	settled := calm
	look := calm
	for len(w.judge.found) == 0 || w.seams.on && len(w.judge.found) < most {
		if !w.Next() {
			return
		}
		if !w.net.Calm || w.Now.Before(look) {
			continue
		}
		look = w.Now.Add(500 * time.Millisecond)
		missing := w.missing()
		switch {
		case missing != "":
			settled = w.Now
			if w.Now.After(calm.Add(patient)) {
				if w.judge.forgiven() {
					return
				}
				w.judge.violates("liveness", "%v after the last fault: %s", patient, missing)
			}
		case w.Now.After(simulation.Later(settled, w.judge.began).Add(quiet)):
			if w.judge.since > 3 {
				w.judge.violates("generations", "%d generations after the last change", w.judge.since)
			}
			return
		}
	}
}

func (w *world) result() *Result {
	r := &Result{Violations: w.judge.found, Rows: w.judge.rows, Generations: int64(w.judge.rounds), Lost: w.judge.lost, Trace: w.Trace()}
	for _, l := range w.logs {
		r.Processed, r.Twice = r.Processed+l.processed, r.Twice+l.twice
	}
	return r
}

// missing says what the group has not come to yet; "" when it is whole.
func (w *world) missing() string {
	owners, wanted := map[partition]string{}, map[string]bool{}
	for _, p := range w.order {
		i := p.now
		if i == nil {
			if p.failed != "" && !p.over {
				return p.name + " is to begin again"
			}
			continue
		}
		switch {
		case !w.judge.within(i):
			return i.name() + " is not in the group"
		case i.callback != nil:
			return i.name() + " runs a callback"
		}
		for _, t := range i.topics() {
			wanted[t] = true
		}
		for _, at := range slices.SortedFunc(maps.Keys(i.places), compare) {
			pos := i.places[at]
			if l := w.logs[at]; w.lives(at) && (!pos.known || !pos.handed || pos.next < l.end || l.committed < l.end) {
				return fmt.Sprintf("%s is at %d of %v, of which %d of %d are committed", i.name(), pos.next, at, l.committed, l.end)
			}
			if other := owners[at]; other != "" {
				return fmt.Sprintf("%v belongs to %s and to %s", at, i.name(), other)
			}
			owners[at] = i.name()
		}
	}
	for _, at := range slices.SortedFunc(maps.Keys(w.logs), compare) {
		if wanted[at.topic] && w.lives(at) && owners[at] == "" {
			return fmt.Sprintf("%v belongs to nobody", at)
		}
	}
	return ""
}

// do is one line of the script.
func (w *world) do(l simulation.Line) {
	words := l.Words
	w.Say("> %s", strings.Join(words, " "))
	number := func(i int) int32 {
		n, _ := strconv.Atoi(words[i])
		return int32(n)
	}
	switch words[0] {
	case "start":
		w.begin(words[1], words[2:])
	case "failover":
		w.co.fail()
	case "create", "partitions":
		w.setTopic(words[1], number(2))
	case "delete":
		w.setTopic(words[1], 0)
	default:
		if p := w.procs[words[1]]; p != nil {
			w.doTo(p, words)
		}
	}
}

// begin starts a process under a new name.
func (w *world) begin(name string, words []string) *process {
	s, err := parseSpec(words, spec{topics: []string{"t"}})
	if err != nil || w.procs[name] != nil {
		panic(fmt.Sprintf("groupsim: start %s %v: %v", name, words, err))
	}
	p := &process{w: w, name: name, spec: s, dice: simulation.NewDice(w.script.Seed, name)}
	w.procs[name] = p
	w.order = append(w.order, p)
	p.begin()
	return p
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
		w.begin(name, strings.Fields(p.spec.words()))
		return
	case "bounce", "kill":
		p.respec(rest)
	case "wants":
		p.spec.topics, p.spec.pattern = strings.Split(rest[0], ","), ""
	}
	i := p.now
	if i == nil {
		return
	}
	switch words[0] {
	case "bounce":
		i.close()
		p.restart(300 * time.Millisecond)
	case "kill":
		w.Say("%s is killed", i.name())
		i.end()
		p.restart(0)
	case "close":
		p.over = true
		i.close()
	case "freeze":
		i.Freeze(duration(rest[0]), w.judge.disturbed)
	case "away":
		i.away = w.Now.Add(duration(rest[0]))
	case "cut":
		i.HangUp()
	case "rejoin":
		i.rejoin()
	case "unsub":
		i.Later(0, func() { i.feed(membership.Subscribed{}) })
		i.Later(duration(rest[0]), i.subscribe)
	case "wants":
		i.spec.topics, i.spec.pattern = p.spec.topics, ""
		i.Later(0, i.subscribe)
	}
}

func duration(text string) time.Duration {
	d, _ := time.ParseDuration(text)
	return d
}

// respec is what a process is from the next start on.
func (p *process) respec(words []string) {
	s, err := parseSpec(words, p.spec)
	if err != nil {
		panic("groupsim: " + err.Error())
	}
	p.spec = s
}

// restart begins the next consumer once there is none.
func (p *process) restart(after time.Duration) {
	p.w.After(after+p.dice.Between(0, 2*time.Second), func() {
		switch {
		case p.over:
		case p.now == nil:
			p.begin()
		case p.now.closing:
			p.restart(300 * time.Millisecond)
		}
	})
}

func (s spec) words() string {
	text := s.kind.String()
	if s.pattern != "" {
		text += " pattern=" + s.pattern
	} else {
		text += " topics=" + strings.Join(s.topics, ",")
	}
	if s.instance != "" {
		text += " instance=" + s.instance
	}
	if s.strict {
		text += " strict"
	}
	return text
}

// Missed are the rows that none of the results came through.
func Missed(rows map[string]int) (missed []string) {
	for _, name := range Rows {
		if rows[name] == 0 {
			missed = append(missed, name)
		}
	}
	return missed
}

// Count adds the rows of a result.
func (r *Result) Count(rows map[string]int) {
	for _, name := range slices.Sorted(maps.Keys(r.Rows)) {
		rows[name] += r.Rows[name]
	}
}
