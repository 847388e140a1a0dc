package groupsim

import (
	"fmt"
	"time"

	"github.com/skeinstream/skein/internal/simulation"
)

// migrations are groups on Kafka to which members of the new protocol come, and which they leave again (R-H7 to R-H9, M23).
func migrations(p *planner) {
	p.s.Broker = "kafka"
	classic := simulation.Pick(p.d, withOld, withOld, withCooperative)
	n := 0
	member := func() {
		var options []string
		if p.d.N(6) == 0 {
			options = []string{fmt.Sprintf("instance=i%d", n)}
		}
		n++
		p.join(classic(p), options...)
		p.wait(0, 2*time.Second)
	}
	for range 2 + p.d.N(3) {
		member()
	}
	for range 1 + p.d.N(2) {
		classics := p.names
		var newcomers []string
		p.hurry()
		for range 1 + p.d.N(2) {
			p.join("K[" + uniform + "]")
			newcomers = append(newcomers, p.names[len(p.names)-1])
			p.hurry()
		}
		for range p.d.N(4) {
			switch p.d.N(4) {
			case 0:
				member()
			case 1:
				p.line("rejoin %s", simulation.Pick(p.d, classics...))
			default:
				p.line("%s %s %s", simulation.Pick(p.d, "bounce", "bounce", "kill"), simulation.Pick(p.d, classics...), classic(p))
			}
			p.settle()
		}
		for _, name := range newcomers { // they go, or become classic ones
			if p.d.N(4) == 0 {
				p.line("bounce %s %s", name, classic(p))
			} else {
				p.line("close %s", name)
			}
			p.hurry()
		}
	}
}

// hurry waits for the group to settle, or does not.
func (p *planner) hurry() {
	if p.d.N(3) == 0 {
		p.wait(0, 1500*time.Millisecond)
		return
	}
	p.settle()
}

// withOld are members that know range.
func withOld(p *planner) string {
	return simulation.Pick(p.d, "D["+cs+","+rg+"]", "D["+cs+","+rg+"]", "D["+cs+","+rg+"]", "D["+rg+","+cs+"]", "D["+rg+"]", "O["+rg+"]", "S["+rg+","+cs+"]", "S["+rg+"]")
}

// withCooperative are members that know cooperative-sticky.
func withCooperative(p *planner) string {
	return simulation.Pick(p.d, "D["+cs+","+rg+"]", "D["+cs+","+rg+"]", "D["+cs+"]", "T["+cs+"]", "S["+cs+"]", "S["+rg+","+cs+"]", "S["+cs+","+rg+"]")
}
