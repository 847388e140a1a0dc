package eossim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/skeinstream/skein/internal/simulation"
)

const (
	cooperative = "cooperative-sticky,range"
	eager       = "range"
)

// Plan is the script that a seed makes.
func Plan(seed uint64) *Script {
	d := simulation.NewDice(seed, "plan")
	s := &Script{Script: simulation.Script{Seed: seed, Broker: simulation.Pick(d, "skein", "skein", "kafka")}, Version: simulation.Pick(d, 1, 2, 2)}
	s.Fences = d.N(3) == 0
	s.Lost, s.Twice, s.Late = simulation.Pick(d, 0, 0, 3, 15), simulation.Pick(d, 0, 0, 3, 20), simulation.Pick(d, 0, 0, 2, 10)
	s.Slow, s.Poison = simulation.Pick(d, 0, 0, 5, 20), simulation.Pick(d, 0, 0, 5, 30)
	s.Expire, s.Tries = simulation.Pick(d, 0, 0, 0, 10), simulation.Pick(d, 1, 2, 5)
	s.Fencing, s.Timeout = d.N(3) > 0, timeout
	s.Topics = []simulation.Topic{{Name: "t", Partitions: int32(1 + d.N(5))}}
	p := &planner{d: d, s: s}
	simulation.Pick(d, upgrades, bounces, bounces, statics)(p)
	p.faults()
	s.Calm = (p.now + d.Between(0, 4*time.Second)).Round(time.Millisecond)
	s.Sort()
	return s
}

// planner writes a script from its start to its calm.
type planner struct {
	d     *simulation.Dice
	s     *Script
	now   time.Duration
	names []string
}

func (p *planner) line(format string, args ...any) {
	p.s.Lines = append(p.s.Lines, simulation.Line{At: p.now.Round(time.Millisecond), Words: strings.Fields(fmt.Sprintf(format, args...))})
}

// wait lets some time pass.
func (p *planner) wait(least, most time.Duration) { p.now += p.d.Between(least, most) }

func (p *planner) settle() { p.wait(2*time.Second, 8*time.Second) }

func (p *planner) join(spec string) {
	name := string(rune('a' + len(p.names)))
	p.names = append(p.names, name)
	p.line("start %s %s", name, spec)
}

// starts begins members, in a moment or one after the other.
func (p *planner) starts(n int, spec string) {
	apart := simulation.Pick(p.d, 0, 300*time.Millisecond, 3*time.Second)
	for range n {
		p.join(spec)
		p.wait(0, apart)
	}
}

// upgrades are rolling bounces between EAGER and COOPERATIVE.
func upgrades(p *planner) {
	from, to, times := eager, cooperative, 1+p.d.N(2)
	switch {
	case p.s.Broker == "kafka": // where the way back takes two bounces (R-C21)
		times = 1
	case p.d.N(3) == 0:
		from, to = to, from
	}
	p.starts(2+p.d.N(2), from)
	for range times {
		p.settle()
		for _, name := range p.names {
			p.line("%s %s %s", simulation.Pick(p.d, "bounce", "bounce", "kill"), name, to)
			p.wait(500*time.Millisecond, 5*time.Second)
		}
		from, to = to, from
	}
}

// bounces are members that come and go.
func bounces(p *planner) {
	p.starts(1+p.d.N(3), simulation.Pick(p.d, cooperative, cooperative, eager, "range static", "cooperative-sticky static"))
	for range 1 + p.d.N(4) {
		p.settle()
		if p.d.N(3) == 0 {
			p.join(strings.Join(p.s.Lines[0].Words[2:], " "))
			continue
		}
		p.line("%s %s", simulation.Pick(p.d, "bounce", "kill", "kill", "rejoin"), simulation.Pick(p.d, p.names...))
	}
}

// statics have a group.instance.id, and with it a transactional id that stays.
func statics(p *planner) {
	for n := range 2 + p.d.N(2) {
		p.join(fmt.Sprintf("%s instance=i%d", simulation.Pick(p.d, cooperative, cooperative, eager), n))
		p.wait(0, 2*time.Second)
	}
	for range 1 + p.d.N(4) {
		p.settle()
		what, how := simulation.Pick(p.d, "bounce", "kill", "kill", "twin"), ""
		if what != "twin" { // an earlier program, and the way back
			how = simulation.Pick(p.d, "", "", "mute", "mute=no")
		}
		p.line("%s %s %s", what, simulation.Pick(p.d, p.names...), how)
	}
}

// Deaths is a script in which members die for good, one after the other and while all else is well. The broker ends nothing by itself.
func Deaths(seed uint64) *Script {
	d := simulation.NewDice(seed, "deaths")
	s := &Script{Script: simulation.Script{Seed: seed, Broker: simulation.Pick(d, "skein", "kafka")}, Version: simulation.Pick(d, 1, 2), Tries: 5}
	s.Fencing, s.Timeout = true, 900
	s.Topics = []simulation.Topic{{Name: "t", Partitions: int32(3 + d.N(4))}}
	p := &planner{d: d, s: s}
	for n := range 3 + d.N(2) {
		p.join(simulation.Pick(d, cooperative, cooperative, eager) + simulation.Pick(d, "", fmt.Sprintf(" instance=i%d", n)))
		p.wait(0, time.Second)
	}
	alive := slices.Clone(p.names)
	for len(alive) > 1 {
		p.wait(15*time.Second, 20*time.Second)
		at := d.N(len(alive))
		p.line("die %s", alive[at])
		alive = slices.Delete(alive, at, at+1)
		if d.N(3) == 0 {
			p.wait(0, time.Second)
			p.join(cooperative)
			alive = append(alive, p.names[len(p.names)-1])
		}
		if len(p.names) > 6 {
			break
		}
	}
	p.wait(held+2*time.Second, held+4*time.Second)
	s.Calm = p.now.Round(time.Millisecond)
	s.Sort()
	return s
}

// faults strews what goes wrong over the life of a script.
func (p *planner) faults() {
	end := p.now + 3*time.Second
	for range simulation.Pick(p.d, 0, 1, 2, 4, 8) {
		p.now = p.d.Between(time.Second, end)
		p.fault(simulation.Pick(p.d, p.s.Begun(p.now)...))
	}
	p.now = end
}

func (p *planner) fault(name string) {
	long := p.d.Between(time.Second, 20*time.Second).Round(time.Second)
	switch p.d.N(11) {
	case 0, 1:
		p.line("kill %s", name)
	case 2, 3:
		p.line("freeze %s %v", name, long)
	case 4, 5:
		p.line("failover %s", simulation.Pick(p.d, "all", "groups", "transactions"))
	case 6:
		p.line("cut %s", name)
	case 7:
		p.line("rejoin %s", name)
	case 8:
		p.line("fence %s", name)
	case 9:
		p.line("partitions t %d", p.s.Topics[0].Partitions+int32(1+p.d.N(2)))
	default:
		for _, n := range p.s.Begun(p.now) {
			p.line("freeze %s %v", n, long)
		}
	}
}

// smaller are a script's versions without one line, or with a better world.
func smaller(s *Script) []*Script {
	list := simulation.Smaller(s, func(s *Script) *simulation.Script { return &s.Script },
		func(s *Script) *int { return &s.Slow }, func(s *Script) *int { return &s.Poison }, func(s *Script) *int { return &s.Expire })
	if s.Calm > time.Second {
		c := *s
		c.Calm -= time.Second
		list = append(list, &c)
	}
	return list
}
