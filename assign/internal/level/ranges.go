package level

// ranges writes the loads that the members of the block have in fairest plans.
// Of two members with q and q-1, the loads can be exchanged if there is a way
// from the one to the other along which partitions can be passed on.
func (f *flow) ranges(q int32, out Levels) {
	var rich, poor []int32 // classes with a member that has q, and q-1
	for m, c := range f.x.members {
		if f.memberSide[m] != here {
			continue
		}
		load := f.loadOf(int32(m)) - (q-1)*f.p.Size[c]
		if load > 0 {
			rich = append(rich, int32(m))
		}
		if load < f.p.Size[c] {
			poor = append(poor, int32(m))
		}
	}
	canRise, canFall := f.ways(rich, true), f.ways(poor, false)
	for m, c := range f.x.members {
		if f.memberSide[m] != here {
			continue
		}
		out.Low[c], out.High[c] = q, q
		if canFall[m] {
			out.Low[c]--
		}
		if !canRise[m] {
			out.High[c]--
		}
	}
}

// loadOf returns what all members of a class have.
func (f *flow) loadOf(m int32) (load int32) {
	for _, a := range f.into.Of(m) {
		load += f.amount[a]
	}
	return load
}

// ways marks what partitions can be passed on to from the given classes, or with
// forward false what can pass partitions on to them.
func (f *flow) ways(from []int32, forward bool) (marked []bool) {
	marked = make([]bool, len(f.x.members))
	topics := make([]bool, len(f.x.topics))
	for _, m := range from {
		marked[m] = true
	}
	for h := 0; h < len(from); h++ {
		for _, a := range f.into.Of(from[h]) {
			t := f.topic[a]
			if topics[t] || forward && f.amount[a] == 0 {
				continue
			}
			topics[t] = true
			for b := f.start[t]; b < f.start[t+1]; b++ {
				if m := f.member[b]; !marked[m] && f.memberSide[m] == here && (forward || f.amount[b] > 0) {
					marked[m] = true
					from = append(from, m)
				}
			}
		}
	}
	return marked
}
