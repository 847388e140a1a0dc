package moves

// place sends what is free of each source to its hubs, before anything is
// computed. All ways that fit cost one move, so that the guess is free; but flows
// go in lumps, and without it one member would get all that is free of a topic.
// Each source is spread in proportion to what the members behind a hub need,
// with weights that are mended a few times until the hubs get about as much
// as they need (iterative proportional fitting).
func (f *flow) place() {
	total := f.p.Ints(f.p.Members.Len())
	open := f.placeDirect(total)
	if open > 0 {
		g := f.newGuess(open > 1)
		for range g.mendings() {
			g.mend()
		}
		carry := 0.0
		for s := range f.members {
			carry = g.round(s, total, carry)
		}
	}
	for h, n := range total {
		f.hand(int32(h), n)
	}
}

// guess is the state of the fitting; need, weight and got are by hub.
type guess struct {
	f                 *flow
	need, weight, got []float64
	several           bool // whether more than one source has something free
}

// placeDirect sends what can go to one hub only; it returns how many sources are
// left. In a group with equal subscriptions that is none.
func (f *flow) placeDirect(total []int32) (open int) {
	p := f.p
	for s := range f.members {
		a := p.Hubs.Start[s]
		switch {
		case f.excess[s] == 0 || p.once(s):
		case p.Hubs.Size(s) == 1 && p.misfit(s, p.Hubs.Items[a]) == 0:
			f.out.Through[a] = f.excess[s]
			total[p.Hubs.Items[a]] += f.excess[s]
			f.excess[s] = 0
		default:
			open++
		}
	}
	return open
}

func (f *flow) newGuess(several bool) *guess {
	g := &guess{f: f, several: several}
	n := f.p.Members.Len()
	g.need, g.weight, g.got = make([]float64, n), make([]float64, n), make([]float64, n)
	average := f.averages()
	for m, h := range f.p.Hub {
		// A little for everybody, so that weights never vanish.
		g.need[h] += max(average[f.p.Block[m]]-float64(f.load[m]), 1.0/1024)
	}
	copy(g.weight, g.need)
	return g
}

// averages returns the mean load of each block.
func (f *flow) averages() []float64 {
	average, members := make([]float64, f.p.Blocks), make([]float64, f.p.Blocks)
	for s, n := range f.p.Supply {
		average[f.p.SourceBlock[s]] += float64(n)
	}
	for _, b := range f.p.Block {
		members[b]++
	}
	for b := range average {
		average[b] /= max(members[b], 1)
	}
	return average
}

func (g *guess) mendings() int {
	if g.several && len(g.need) > 1 {
		return 4
	}
	return 0
}

// mend spreads everything by weight, and weighs anew.
func (g *guess) mend() {
	clear(g.got)
	for s := range g.f.members {
		g.share(s, func(a int32, part float64) { g.got[g.f.p.Hubs.Items[a]] += part })
	}
	for h, got := range g.got {
		if got > 0 {
			g.weight[h] = float64(g.weight[h] * g.need[h] / got)
		}
	}
}

// share calls do with the part of a source that each fitting hub is to get. The
// conversions keep the compiler from fusing operations, which would make results
// depend on the processor.
func (g *guess) share(s int32, do func(a int32, part float64)) {
	p := g.f.p
	free := g.f.excess[s]
	if free == 0 || p.once(s) {
		return
	}
	sum := 0.0
	for a := p.Hubs.Start[s]; a < p.Hubs.Start[s+1]; a++ {
		if h := p.Hubs.Items[a]; p.misfit(s, h) == 0 {
			sum += g.weight[h]
		}
	}
	if sum == 0 {
		return
	}
	rate := float64(free) / sum
	for a := p.Hubs.Start[s]; a < p.Hubs.Start[s+1]; a++ {
		if h := p.Hubs.Items[a]; p.misfit(s, h) == 0 {
			do(a, float64(g.weight[h]*rate))
		}
	}
}

// round sends whole partitions; what is cut off is carried on to the next hub.
func (g *guess) round(s int32, total []int32, carry float64) float64 {
	left, last := g.f.excess[s], int32(-1)
	g.share(s, func(a int32, part float64) {
		carry += part
		n := min(int32(carry), left)
		carry -= float64(n)
		left -= n
		g.f.out.Through[a] = n
		total[g.f.p.Hubs.Items[a]] += n
		last = a
	})
	if last < 0 {
		return carry
	}
	g.f.out.Through[last] += left
	total[g.f.p.Hubs.Items[last]] += left
	g.f.excess[s] = 0
	return carry - float64(left)
}

// hand gives n partitions to the members of a hub: first up to the least that is
// fair, then up to the most, then to the last, from whom the flow takes it.
func (f *flow) hand(h, n int32) {
	members := f.p.Members.Of(h)
	for _, upTo := range [...][]int32{f.p.Low, f.p.High} {
		for _, m := range members {
			if n == 0 {
				return
			}
			k := max(0, min(n, upTo[m]-f.load[m]))
			f.take(m, k)
			n -= k
		}
	}
	f.take(members[len(members)-1], n)
}

func (f *flow) take(m, n int32) {
	f.out.Taken[m] += n
	f.load[m] += n
}
