package moves

import "github.com/skeinstream/skein/assign/internal/group"

// The arcs out of a node are numbered from 0. Where flow can be taken back there
// is an arc against it, at the price with its sign turned.

// span returns which arcs out of v to look at: all of them, but for the keep arcs of a
// source of which everything is kept, and those back from a hub that was sent nothing.
// That is most arcs of most groups, and none of them carries anything.
func (f *flow) span(v int32) (first, end int32) {
	end = f.degree(v)
	switch {
	case v < f.members && f.spare[v] == 0:
		first = f.p.Owners.Size(v)
	case v >= f.hubs && v < f.blocks && f.spare[v] == 0:
		end = f.p.Members.Size(v - f.hubs)
	}
	return first, end
}

// degree returns how many arcs leave v.
func (f *flow) degree(v int32) int32 {
	p := f.p
	switch {
	case v < f.members:
		n := p.Owners.Size(v) + p.Hubs.Size(v)
		if p.Former != nil && p.Former[v] != group.None {
			n++
		}
		return n
	case v < f.hubs:
		n := f.ownersOf.Size(v-f.members) + 2
		if p.Former != nil {
			n += f.formerOf.Size(v - f.members)
		}
		return n
	case v < f.blocks:
		return p.Members.Size(v-f.hubs) + f.sourcesOf.Size(v-f.hubs)
	}
	return f.inBlock.Size(v - f.blocks)
}

// row returns where arc i out of v leads, and those after it that are of its kind: to
// the nodes heads[0]+offset, heads[1]+offset and so on. Most arcs need no more than
// that to be passed over.
func (f *flow) row(v, i int32) (heads []int32, offset int32) {
	p := f.p
	switch {
	case v < f.members:
		owners, hubs := p.Owners.Of(v), p.Hubs.Of(v)
		switch n := int(i); {
		case n < len(owners):
			return owners[n:], f.members
		case n < len(owners)+len(hubs):
			return hubs[n-len(owners):], f.hubs
		}
		return p.Former[v : v+1], f.members
	case v < f.hubs:
		return f.memberRow(v-f.members, i)
	case v < f.blocks:
		h := v - f.hubs
		if members := p.Members.Of(h); int(i) < len(members) {
			return members[i:], f.members
		}
		return f.hubSource[f.sourcesOf.Start[h]+i-p.Members.Size(h) : f.sourcesOf.Start[h+1]], 0
	}
	return f.inBlock.Of(v - f.blocks)[i:], f.members
}

func (f *flow) memberRow(m, i int32) (heads []int32, offset int32) {
	n := f.ownersOf.Size(m)
	switch {
	case i < n:
		return f.ownerSource[f.ownersOf.Start[m]+i : f.ownersOf.Start[m+1]], 0
	case i == n:
		return f.p.Hub[m : m+1], f.hubs
	case i == n+1:
		return f.p.Block[m : m+1], f.blocks
	}
	return f.formerOf.Of(m)[i-n-2:], 0
}

// arc returns where arc i out of v leads, how much more it carries, and at what
// price a piece.
func (f *flow) arc(v, i int32) (to, room int32, price int64) {
	switch {
	case v < f.members:
		return f.sourceArc(v, i)
	case v < f.hubs:
		return f.memberArc(v-f.members, i)
	case v < f.blocks:
		return f.hubArc(v-f.hubs, i)
	}
	m := f.inBlock.Items[f.inBlock.Start[v-f.blocks]+i]
	room, price = f.p.Lighter(m, f.load[m])
	return f.members + m, room, price
}

// sourceArc: to the members that own some, to the hubs, to the former owner.
func (f *flow) sourceArc(s, i int32) (to, room int32, price int64) {
	p := f.p
	if n := p.Owners.Size(s); i >= n {
		return f.giveArc(s, i-n)
	}
	a := p.Owners.Start[s] + i
	m := p.Owners.Items[a]
	return f.members + m, p.Owned[a] - f.out.Kept[a], p.KeepPrice(s, m)
}

func (f *flow) giveArc(s, i int32) (to, room int32, price int64) {
	p := f.p
	if i == p.Hubs.Size(s) {
		return f.members + p.Former[s], wide, p.ReturnPrice(s)
	}
	h := p.Hubs.Items[p.Hubs.Start[s]+i]
	return f.hubs + h, wide, p.GivePrice(s, h)
}

// memberArc: back to the sources, back to the hub, on to the block, and back to
// the sources it had once.
func (f *flow) memberArc(m, i int32) (to, room int32, price int64) {
	n := f.ownersOf.Size(m)
	switch i - n {
	case 0:
		return f.hubs + f.p.Hub[m], f.out.Taken[m], 0
	case 1:
		room, price = f.p.Heavier(m, f.load[m])
		return f.blocks + f.p.Block[m], room, price
	}
	if i > n {
		s := f.formerOf.Items[f.formerOf.Start[m]+i-n-2]
		return s, f.out.Returned[s], -f.p.ReturnPrice(s)
	}
	at := f.ownersOf.Start[m] + i
	s := f.ownerSource[at]
	return s, f.out.Kept[f.ownersOf.Items[at]], -f.p.KeepPrice(s, m)
}

// hubArc: to its members, back to the sources.
func (f *flow) hubArc(h, i int32) (to, room int32, price int64) {
	p := f.p
	if n := p.Members.Size(h); i >= n {
		at := f.sourcesOf.Start[h] + i - n
		s := f.hubSource[at]
		return s, f.out.Through[f.sourcesOf.Items[at]], -p.GivePrice(s, h)
	}
	return f.members + p.Members.Items[p.Members.Start[h]+i], wide, 0
}

// send moves n along arc i out of v.
func (f *flow) send(v, i, n int32) {
	p := f.p
	switch {
	case v < f.members:
		f.sendSource(v, i, n)
	case v < f.hubs:
		f.sendMember(v-f.members, i, n)
	case v < f.blocks:
		h := v - f.hubs
		if k := p.Members.Size(h); i >= k {
			f.out.Through[f.sourcesOf.Items[f.sourcesOf.Start[h]+i-k]] -= n
			f.spare[v] -= n
		} else {
			f.out.Taken[p.Members.Items[p.Members.Start[h]+i]] += n
		}
	default:
		f.load[f.inBlock.Items[f.inBlock.Start[v-f.blocks]+i]] -= n
	}
}

func (f *flow) sendSource(s, i, n int32) {
	p := f.p
	owners, hubs := p.Owners.Size(s), p.Hubs.Size(s)
	switch {
	case i < owners:
		f.out.Kept[p.Owners.Start[s]+i] += n
		f.spare[s] -= n
	case i < owners+hubs:
		at := p.Hubs.Start[s] + i - owners
		f.out.Through[at] += n
		f.spare[f.hubs+p.Hubs.Items[at]] += n
	default:
		f.out.Returned[s] += n
	}
}

func (f *flow) sendMember(m, i, n int32) {
	owners := f.ownersOf.Size(m)
	switch {
	case i < owners:
		at := f.ownersOf.Start[m] + i
		f.out.Kept[f.ownersOf.Items[at]] -= n
		f.spare[f.ownerSource[at]] += n
	case i == owners:
		f.out.Taken[m] -= n
	case i == owners+1:
		f.load[m] += n
	default:
		f.out.Returned[f.formerOf.Items[f.formerOf.Start[m]+i-owners-2]] -= n
	}
}
