package upgrade

import "slices"

// Stage is what a group runs from the moment on when so many members have been restarted.
type Stage struct {
	Restarted int    `json:"restarted"`
	Assignor  string `json:"assignor"`
	Protocol  string `json:"protocol"`
}

// play is a rolling restart: one member after the other leaves and comes back as a newcomer.
type play struct {
	n      Names
	before []seat // who is still to be restarted
	seats  []seat // the same, and those who have been
	broken bool   // an EAGER assignor was selected while somebody naive owned something
}

// stages plays a restart through, in the order of the seats; each change is one stage.
func (p *play) stages(t Target) (out []Stage) {
	done := seat{}
	for restarted := 1; len(p.before) > 0; restarted++ {
		p.leave()
		p.seats = slices.Clone(p.before)
		if done.count > 0 {
			p.seats = append(p.seats, done)
		}
		p.seats = append(p.seats, t.newcomer(p.n))
		name := p.settle()
		s := Stage{restarted, name, protocol(p.seats)}
		if len(out) == 0 || out[len(out)-1].Assignor != s.Assignor || out[len(out)-1].Protocol != s.Protocol {
			out = append(out, s)
		}
		done = p.seats[len(p.seats)-1]
		done.count = restarted
		p.before = p.seats[:len(p.before)]
	}
	return out
}

// leave takes one member away.
func (p *play) leave() {
	p.before = slices.Clone(p.before)
	if p.before[0].count--; p.before[0].count == 0 {
		p.before = p.before[1:]
	}
}

// settle runs the rounds that follow one member's coming, until nothing changes any more. Whoever holds something back gives up
// everything when nothing is left to select (R-C12, R-C15).
func (p *play) settle() (name string) {
	for range len(p.seats) + 2 {
		round := selected(p.n, p.seats)
		if round == "" {
			for i := range p.seats {
				p.seats[i].holds = false
			}
			round = selected(p.n, p.seats)
		}
		p.judge(round)
		for i := range p.seats {
			p.seats[i] = p.seats[i].after(p.n, round)
		}
		if round == name {
			break
		}
		name = round
	}
	return name
}

// judge looks for owners whose partitions an EAGER assignor deals out.
func (p *play) judge(name string) {
	if p.n[name] {
		return
	}
	p.broken = p.broken || slices.ContainsFunc(p.seats, func(s seat) bool { return s.naive })
}
