package groupsim

import (
	"fmt"
	"slices"
	"time"

	"github.com/skeinstream/skein/internal/simulation"
)

// Plan is the script that a seed makes.
func Plan(seed uint64) *Script {
	d := simulation.NewDice(seed, "plan")
	s := &Script{Script: simulation.Script{Seed: seed, Broker: simulation.Pick(d, "skein", "skein", "kafka"), Fences: d.N(3) == 0}}
	s.Lost, s.Twice, s.Late = simulation.Pick(d, 0, 0, 3, 15), simulation.Pick(d, 0, 0, 3, 20), simulation.Pick(d, 0, 0, 2, 10)
	s.Slow, s.Fail = simulation.Pick(d, 0, 0, 10, 60), simulation.Pick(d, 0, 0, 20, 100)
	s.Topics = []simulation.Topic{{Name: "t", Partitions: int32(1 + d.N(7))}}
	p := &planner{d: d, s: s}
	if d.N(3) == 0 {
		s.Topics = append(s.Topics, simulation.Topic{Name: "u", Partitions: int32(1 + d.N(4))})
	}
	p.life = simulation.Pick(d, upgrades, upgrades, twoBounces, twoBounces, orders, fleets, fleets, intruders, foreigners, statics, migrations)
	p.life(p)
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
	life  func(*planner)
}

func (p *planner) line(format string, args ...any) {
	p.s.Lines = append(p.s.Lines, simulation.Line{At: p.now.Round(time.Millisecond), Words: fieldsOf(format, args...)})
}

// wait lets some time pass.
func (p *planner) wait(least, most time.Duration) { p.now += p.d.Between(least, most) }

// starts begins members, in a moment or one after the other.
func (p *planner) starts(n int, kind func() string) {
	apart := simulation.Pick(p.d, 0, 300*time.Millisecond, 3*time.Second)
	for range n {
		p.join(kind())
		p.wait(0, apart)
	}
}

func (p *planner) join(kind string, options ...string) {
	name := string(rune('a' + len(p.names)))
	p.names = append(p.names, name)
	p.line("start %s %s %s%s", name, kind, p.subscription(), optionsOf(options))
}

func (p *planner) subscription() string {
	switch p.d.N(8) {
	case 0:
		return "pattern=" + simulation.Pick(p.d, "t", "t", "u")
	case 1, 2:
		return "topics=t,u"
	}
	return "topics=t"
}

func optionsOf(options []string) (text string) {
	for _, o := range options {
		text += " " + o
	}
	return text
}

// bounces every process to another kind, one after the other.
func (p *planner) bounces(kind string) {
	order := slices.Clone(p.names)
	for i := range order {
		k := i + p.d.N(len(order)-i)
		order[i], order[k] = order[k], order[i]
		p.line("%s %s %s", simulation.Pick(p.d, "bounce", "bounce", "bounce", "kill"), order[i], kind)
		p.wait(500*time.Millisecond, 7*time.Second)
	}
}

func (p *planner) settle() { p.wait(3*time.Second, 12*time.Second) }

// eager is the name of an EAGER assignor.
func (p *planner) eager() string {
	return simulation.Pick(p.d, rg, rg, rg, "roundrobin", "sticky", "fair")
}

// upgrades are one rolling bounce up, perhaps down, and so on (R-C14, R-C21).
func upgrades(p *planner) {
	old := p.eager()
	ours := fmt.Sprintf("D[%s,%s]", cs, old)
	if old == rg && p.d.N(3) == 0 {
		ours += " rounds=2"
	}
	from, to := "O["+old+"]", ours
	if p.d.N(3) == 0 {
		from, to = to, from
	}
	p.starts(2+p.d.N(3), func() string { return from })
	for range 1 + p.d.N(3) {
		p.settle()
		if to[0] == 'O' && p.s.Broker == "kafka" { // two steps (R-C21)
			p.bounces(fmt.Sprintf("D[%s,%s]", old, cs))
			p.settle()
		}
		p.bounces(to)
		from, to = to, from
	}
}

// twoBounces are Kafka's way, and its way back (R-C7, R-C8, R-C20).
func twoBounces(p *planner) {
	old := p.eager()
	steps := []string{"O[" + old + "]", simulation.Pick(p.d, "S["+cs+","+old+"]", "S["+old+","+cs+"]"), "S[" + cs + "]"}
	if p.d.N(3) == 0 {
		steps = steps[1:]
	}
	if p.d.N(3) == 0 {
		slices.Reverse(steps)
	}
	p.starts(2+p.d.N(3), func() string { return steps[0] })
	for _, step := range steps[1:] {
		p.settle()
		if p.d.N(3) == 0 {
			p.line("failover")
		}
		p.bounces(step)
	}
}

// orders are bounces between the two orders of preference (R-C14).
func orders(p *planner) {
	kinds := []string{fmt.Sprintf("D[%s,%s]", cs, rg), fmt.Sprintf("D[%s,%s]", rg, cs)}
	p.starts(2+p.d.N(3), func() string { return kinds[0] })
	for i := range 1 + p.d.N(3) {
		p.settle()
		p.bounces(kinds[(i+1)%2])
	}
}

// pool are kinds that may meet.
func (p *planner) any() string {
	return simulation.Pick(p.d, "D["+cs+","+rg+"]", "D["+cs+","+rg+"]", "D["+rg+","+cs+"]", "D["+rg+"]", "O["+rg+"]", "S["+cs+","+rg+"]", "S["+rg+","+cs+"]",
		"S["+cs+"]", "T["+cs+"]", "T["+cs+","+rg+"]", "D["+cs+"]")
}

// fleets are what happens to be there.
func fleets(p *planner) {
	p.starts(2+p.d.N(4), p.any)
	for range p.d.N(6) {
		p.settle()
		p.line("%s %s %s", simulation.Pick(p.d, "bounce", "kill"), simulation.Pick(p.d, p.names...), p.any())
	}
}

// intruders come into a group of one kind.
func intruders(p *planner) {
	d := "D[" + cs + "," + rg + "]"
	group := simulation.Pick(p.d, d, d, "S["+cs+"]", "O["+rg+"]", "D["+cs+"] strict", "S["+rg+","+cs+"]", "S["+cs+","+rg+"]", "O[roundrobin]", "O[sticky]")
	p.starts(1+p.d.N(3), func() string { return group })
	p.settle()
	for range 1 + p.d.N(2) {
		p.join(simulation.Pick(p.d, "O["+rg+"]", "O["+rg+"]", "S["+cs+"]", "S["+cs+","+rg+"]", "D["+rg+","+cs+"]", "D["+cs+"] strict", d, "D["+rg+"]"))
		p.settle()
	}
	if p.d.N(2) == 0 {
		p.line("%s %s", simulation.Pick(p.d, "close", "kill"), simulation.Pick(p.d, p.names...))
		p.settle()
	}
}

// foreigners follow what is selected, and old members come and go (R-C16, M20).
func foreigners(p *planner) {
	p.starts(2+p.d.N(2), func() string { return simulation.Pick(p.d, "D["+cs+","+rg+"]", "F["+cs+","+rg+"]") })
	p.settle()
	p.join("F[" + cs + "," + rg + "]")
	p.settle()
	p.join("O[" + rg + "]")
	p.settle()
	if p.d.N(2) == 0 {
		p.line("%s %s", simulation.Pick(p.d, "close", "kill"), simulation.Pick(p.d, p.names...))
		p.settle()
	}
}

// statics have a group.instance.id. Of Kafka's only EAGER ones, since those that are COOPERATIVE may leave a partition to nobody
// (docs/decision/0008).
func statics(p *planner) {
	kinds := []string{"D[" + cs + "," + rg + "]", "D[" + cs + "," + rg + "]", "D[" + rg + "," + cs + "]", "T[" + cs + "]", "T[" + cs + "," + rg + "]", "O[" + rg + "]", "S[" + rg + "," + cs + "]"}
	some := func() string { return simulation.Pick(p.d, kinds...) }
	for n := range 2 + p.d.N(3) {
		options := []string{fmt.Sprintf("instance=i%d", n)}
		if p.d.N(4) == 0 {
			options = nil
		}
		p.join(some(), options...)
		p.wait(0, 2*time.Second)
	}
	for range 1 + p.d.N(5) {
		p.settle()
		name := simulation.Pick(p.d, p.names...)
		switch p.d.N(6) {
		case 0:
			p.line("twin %s", name)
		case 1:
			p.line("kill %s", name)
		default:
			p.line("%s %s %s", simulation.Pick(p.d, "bounce", "kill"), name, some())
		}
	}
}
