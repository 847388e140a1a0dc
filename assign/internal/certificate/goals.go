package certificate

// Goals says what a plan is checked for, after its loads.
type Goals struct {
	// Racks asks for the fewest misfits; RacksFirst puts them before moves.
	Racks, RacksFirst bool
	// Slack is by how much loads may leave Low to High, and these are the loads
	// that fairest plans have. Without slack they are not looked at.
	Slack     int32
	Low, High []int32
}

// Cost is a change for the worse, or where negative for the better, by goal.
type Cost struct{ Moves, Uneven, Misfits, Estranged int32 }

func (c Cost) plus(d Cost) Cost {
	return Cost{c.Moves + d.Moves, c.Uneven + d.Uneven, c.Misfits + d.Misfits, c.Estranged + d.Estranged}
}

func (c Cost) minus() Cost { return Cost{-c.Moves, -c.Uneven, -c.Misfits, -c.Estranged} }

// less compares in the order of the goals.
func (g *Goals) less(a, b Cost) bool {
	first := [...]int32{a.Moves - b.Moves, a.Uneven - b.Uneven, a.Misfits - b.Misfits, a.Estranged - b.Estranged}
	if g.RacksFirst {
		first = [...]int32{a.Misfits - b.Misfits, a.Moves - b.Moves, a.Uneven - b.Uneven, a.Estranged - b.Estranged}
	}
	for _, d := range first {
		if d != 0 {
			return d < 0
		}
	}
	return false
}

// cell is partitions that are alike in everything but who owned them.
type cell struct{ topic, rackSet, former int32 }

// costs tells what it costs to give partitions of a cell away.
type costs struct {
	p *Plan
	g *Goals
}

func (c *costs) misfit(x cell, class int32) Cost {
	if rack := c.p.Rack[class]; c.g.Racks && rack >= 0 && x.rackSet >= 0 && !c.p.Fits(x.rackSet, rack) {
		return Cost{Misfits: 1}
	}
	return Cost{}
}

// keep is what it costs to leave a partition with its owner, give to give it to
// any member of a class, giveBack to give it to who had it once.
func (c *costs) keep(x cell, m int32) Cost { return c.misfit(x, c.p.Class[m]) }

func (c *costs) give(x cell, class int32) Cost {
	cost := c.misfit(x, class)
	cost.Moves = 1
	if x.former >= 0 {
		cost.Estranged = 1
	}
	return cost
}

func (c *costs) giveBack(x cell) Cost {
	cost := c.misfit(x, c.p.Class[x.former])
	cost.Moves = 1
	return cost
}

// held is what it costs that m has partition q.
func (c *costs) held(x cell, q, m int32) Cost {
	switch m {
	case c.p.Owner[q]:
		return c.keep(x, m)
	case x.former:
		return c.giveBack(x)
	}
	return c.give(x, c.p.Class[m])
}

// gain is what it costs that m gets one more in all, lose one less; possible
// tells whether its load may be that.
func (g *Goals) gain(m, load int32) (c Cost, possible bool) {
	switch {
	case load < g.Low[m]:
		c.Uneven = -1
	case load >= g.High[m]:
		c.Uneven = 1
	}
	return c, load < g.High[m]+g.Slack
}

func (g *Goals) lose(m, load int32) (c Cost, possible bool) {
	switch {
	case load > g.High[m]:
		c.Uneven = -1
	case load <= g.Low[m]:
		c.Uneven = 1
	}
	return c, load > max(g.Low[m]-g.Slack, 0)
}
