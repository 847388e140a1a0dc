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
	broker Broker
	before []seat // who is still to be restarted
	done   []seat // who has been; those that offer the same together
	seats  []seat // all of them
	broken bool   // an EAGER assignor was selected while somebody naive owned something
}

// stages plays a restart through, in the order of the seats; each change is one stage.
func (p *play) stages(t Target) (out []Stage) {
	for restarted := 1; len(p.before) > 0; restarted++ {
		p.leave()
		p.seats = append(slices.Clone(p.before), p.done...)
		p.seats = append(p.seats, p.newcomer(t))
		name := p.settle()
		s := Stage{restarted, name, protocol(p.seats)}
		if len(out) == 0 || out[len(out)-1].Assignor != s.Assignor || out[len(out)-1].Protocol != s.Protocol {
			out = append(out, s)
		}
		p.done = slices.Clone(p.seats[len(p.before):])
		p.before = p.seats[:len(p.before)]
		p.gather()
	}
	return out
}

// newcomer is who joins those that are there. One that is refused offers what these run as well, if its client does that.
func (p *play) newcomer(t Target) seat {
	s := t.newcomer(p.n)
	if len(p.seats) == 0 || t.Client != Skein || slices.ContainsFunc(t.List, p.takes) {
		return s
	}
	if runs := p.settle(); t.Client.adopts(runs) {
		s.list = append(slices.Clone(s.list), runs)
	}
	return s
}

// takes says whether everybody is seen to accept a name.
func (p *play) takes(name string) bool {
	return !slices.ContainsFunc(p.seats, func(s seat) bool { return !slices.Contains(s.accepts(p.n, p.broker), name) })
}

// gather puts the last of those who have been restarted with those that are like it.
func (p *play) gather() {
	last := len(p.done) - 1
	if i := slices.IndexFunc(p.done[:last], p.done[last].alike); i >= 0 {
		p.done[i].count++
		p.done = p.done[:last]
	}
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
