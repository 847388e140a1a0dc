package groupsim

import (
	"fmt"
	"strings"
	"time"

	"github.com/skeinstream/skein/internal/simulation"
)

func fieldsOf(format string, args ...any) []string {
	return strings.Fields(fmt.Sprintf(format, args...))
}

// faults strews what goes wrong over the life of a script.
func (p *planner) faults() {
	end := p.now + 2*time.Second
	count := simulation.Pick(p.d, 0, 1, 2, 4, 8)
	for range count {
		p.now = p.d.Between(time.Second, end)
		p.fault(simulation.Pick(p.d, p.s.Begun(p.now)...))
	}
	if p.d.N(3) == 0 {
		p.now = p.d.Between(time.Second, end)
		p.topics()
	}
	p.now = end
}

func (p *planner) fault(name string) {
	long := p.d.Between(time.Second, 20*time.Second).Round(time.Second)
	switch p.d.N(10) {
	case 0:
		p.line("kill %s", name)
	case 1:
		p.line("freeze %s %v", name, long)
	case 2:
		p.line("away %s %v", name, long)
	case 3, 4:
		p.line("failover")
	case 5:
		p.line("cut %s", name)
	case 6:
		p.line("rejoin %s", name)
	case 7:
		p.line("wants %s %s", name, simulation.Pick(p.d, "t", "t,u", "u"))
	case 8:
		p.line("unsub %s %v", name, p.d.Between(0, 8*time.Second).Round(100*time.Millisecond))
	default:
		for _, n := range p.s.Begun(p.now) {
			p.line("freeze %s %v", n, long)
		}
	}
}

func (p *planner) topics() {
	switch p.d.N(3) {
	case 0:
		p.line("partitions t %d", p.s.Topics[0].Partitions+int32(1+p.d.N(3)))
	case 1:
		if len(p.s.Topics) == 1 {
			p.line("create u %d", 1+p.d.N(3))
			return
		}
		p.line("delete u")
	default:
		p.line("create tt 2")
	}
}
