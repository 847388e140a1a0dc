package moves

// Equal reports whether all members may have all partitions and nothing but loads
// and moves counts: one source, one hub, one block. That is a group with equal
// subscriptions, and its cheapest flow can be told without looking for ways.
func (p *Problem) Equal() bool {
	return len(p.Supply) == 1 && p.Members.Len() == 1 && p.Blocks == 1 && p.Slack == 0 && p.Former == nil && p.Misfit == nil
}

// solveEqual lets members keep what they own, up to the load of their box: some may
// have one more than the others, and those who own so many come first, since
// it saves a move. Everybody is filled up with what is left. It takes time linear in
// the members.
func (p *Problem) solveEqual(out Flow) {
	members := p.Members.Of(0)
	owned, load := p.Ints(len(p.Hub)), p.Ints(len(p.Hub))
	for a, m := range p.Owners.Items {
		owned[m] = p.Owned[a]
	}
	more := p.Supply[0]
	for _, m := range members {
		more -= p.Low[m]
	}
	for _, m := range members {
		load[m] = p.Low[m]
		if more > 0 && owned[m] >= p.High[m] && p.High[m] > p.Low[m] {
			load[m]++
			more--
		}
	}
	for _, m := range members {
		if more > 0 && load[m] < p.High[m] {
			load[m]++
			more--
		}
		out.Taken[m] = max(load[m]-owned[m], 0)
		out.Through[0] += out.Taken[m]
	}
	for a, m := range p.Owners.Items {
		out.Kept[a] = min(p.Owned[a], load[m])
	}
}
