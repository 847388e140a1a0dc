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
		f.patch(total)
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
	// low is what the members of a hub lack to the least that is fair, high to the most.
	low, high []int32
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
	g.low, g.high = f.p.Ints(n), f.p.Ints(n)
	for m, h := range f.p.Hub {
		g.low[h] += max(f.p.Low[m]-f.load[m], 0)
		g.high[h] += max(f.p.High[m]-f.load[m], 0)
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

// mend spreads everything by weight, and weighs anew. The conversions keep the
// compiler from fusing operations, which would make results depend on the processor.
func (g *guess) mend() {
	clear(g.got)
	p := g.f.p
	for s := range g.f.members {
		rate := g.rate(s)
		if rate == 0 {
			continue
		}
		for _, h := range p.Hubs.Of(s) {
			if p.misfit(s, h) == 0 {
				g.got[h] += float64(g.weight[h] * rate)
			}
		}
	}
	for h, got := range g.got {
		if got > 0 {
			g.weight[h] = float64(g.weight[h] * g.need[h] / got)
		}
	}
}

// rate is what each fitting hub is to get of a source for its weight; 0 if there is
// nothing to be had, or none fits.
func (g *guess) rate(s int32) float64 {
	p := g.f.p
	free := g.f.excess[s]
	if free == 0 || p.once(s) {
		return 0
	}
	sum := 0.0
	for _, h := range p.Hubs.Of(s) {
		if p.misfit(s, h) == 0 {
			sum += g.weight[h]
		}
	}
	if sum == 0 {
		return 0
	}
	return float64(free) / sum
}

// round sends whole partitions; what is cut off is carried on to the next hub.
func (g *guess) round(s int32, total []int32, carry float64) float64 {
	rate := g.rate(s)
	if rate == 0 {
		return carry
	}
	p := g.f.p
	left, last := g.f.excess[s], int32(-1)
	few := p.Hubs.Size(s) <= fewHubs
	for a := p.Hubs.Start[s]; a < p.Hubs.Start[s+1]; a++ {
		h := p.Hubs.Items[a]
		if p.misfit(s, h) != 0 {
			continue
		}
		last = a
		if carry += float64(g.weight[h] * rate); carry < 1 {
			continue
		}
		n := min(int32(carry), left)
		carry -= float64(n)
		if few {
			n = min(n, g.low[h])
		}
		left -= n
		g.send(a, n, total)
	}
	g.f.excess[s] = 0
	if few {
		left = g.fill(s, left, total)
		carry += float64(left)
	}
	g.send(last, left, total)
	return carry - float64(left)
}

// fewHubs is up to how many hubs a source fills those first that lack most: where
// there are few, as in chains, parts by weight are far from what they need, and
// every mistake is handed on from hub to hub.
const fewHubs = 4

// fill sends what is left of a source to hubs with room; it returns what is left then.
func (g *guess) fill(s, left int32, total []int32) int32 {
	p := g.f.p
	for _, room := range [...][]int32{g.low, g.high} {
		for a := p.Hubs.Start[s]; a < p.Hubs.Start[s+1] && left > 0; a++ {
			if h := p.Hubs.Items[a]; p.misfit(s, h) == 0 {
				n := min(left, room[h])
				left -= n
				g.send(a, n, total)
			}
		}
	}
	return left
}

// send gives n of a source to the hub at the end of arc a.
func (g *guess) send(a, n int32, total []int32) {
	h := g.f.p.Hubs.Items[a]
	g.f.out.Through[a] += n
	total[h] += n
	g.low[h], g.high[h] = max(0, g.low[h]-n), max(0, g.high[h]-n)
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
