package moves

// patches mend the guess where hubs get a little too much or too little, which is
// what cutting to whole partitions leaves behind: of a source that both may have,
// one that gets too much hands partitions to one that lacks some. That is faster than
// to leave it to the flow, which would have to look at everything for every few.
type patches struct {
	f *flow
	// By hub, what its members lack to the least that is fair, and have beyond what
	// they may give away.
	lack, over []int32
	lacking    int32 // the sum of what is lacking
}

// patch mends: first what is beyond the most that is fair goes to who lacks
// something, then to who has room, and then what is beyond the least.
func (f *flow) patch(total []int32) {
	n := f.p.Members.Len()
	g := patches{f: f, lack: f.p.Ints(n), over: f.p.Ints(n)}
	for _, step := range [...]struct{ give, take []int32 }{{f.p.High, f.p.Low}, {f.p.High, f.p.High}, {f.p.Low, f.p.Low}} {
		if g.count(total, step.give, step.take) {
			for s := range f.members {
				g.source(s, total)
			}
		}
	}
}

// count fills lack and over; it reports whether there is anything to hand on.
func (g *patches) count(total, give, take []int32) bool {
	copy(g.over, total)
	for h := range g.lack {
		g.lack[h] = -total[h]
	}
	for m, h := range g.f.p.Hub {
		g.over[h] -= max(give[m]-g.f.load[m], 0)
		g.lack[h] += max(take[m]-g.f.load[m], 0)
	}
	over := false
	g.lacking = 0
	for h := range g.over {
		over = over || g.over[h] > 0
		g.lacking += max(g.lack[h], 0)
	}
	return over && g.lacking > 0
}

// source hands on partitions of one source: from each hub to the next that lack
// something, one for each member, so that nobody gets many of one topic.
func (g *patches) source(s int32, total []int32) {
	p := g.f.p
	to, end := p.Hubs.Start[s], p.Hubs.Start[s+1]
	for a := p.Hubs.Start[s]; a < end && to < end && g.lacking > 0; a++ {
		from := p.Hubs.Items[a]
		for n := min(g.f.out.Through[a], g.over[from]); n > 0 && to < end; to++ {
			h := p.Hubs.Items[to]
			k := min(n, g.lack[h], p.Members.Size(h))
			if k <= 0 || p.misfit(s, h) != 0 {
				continue
			}
			g.hand(a, to, k)
			total[from], total[h] = total[from]-k, total[h]+k
			n -= k
		}
	}
}

func (g *patches) hand(from, to, n int32) {
	p := g.f.p
	g.f.out.Through[from] -= n
	g.f.out.Through[to] += n
	g.over[p.Hubs.Items[from]] -= n
	g.lack[p.Hubs.Items[to]] -= n
	g.lacking -= n
}
