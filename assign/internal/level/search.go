package level

// search is the state of Dinic's algorithm: the depth of every class in the
// breadth-first search, and the next arc to try in the depth-first one.
type search struct {
	topicDepth, memberDepth []int32
	topicNext, memberNext   []int32
	topicFirst, memberFirst []int32 // where the arcs begin
	queue                   []int32
	sink                    int32 // depth of the nearest room
}

func (s *search) begin(topicFirst, memberFirst []int32) {
	s.topicFirst, s.memberFirst = topicFirst, memberFirst
	s.topicDepth, s.memberDepth = resize(s.topicDepth, len(topicFirst)), resize(s.memberDepth, len(memberFirst))
	s.topicNext, s.memberNext = resize(s.topicNext, len(topicFirst)), resize(s.memberNext, len(memberFirst))
}

// run sends what is left, or in the second run what is spare, into the room there is.
func (f *flow) run(second bool) {
	for f.reach(second) {
		copy(f.topicNext, f.topicFirst)
		copy(f.memberNext, f.memberFirst)
		for t := range f.left {
			if f.left[t] > 0 {
				f.left[t] -= f.pushTopic(int32(t), f.left[t])
			}
		}
		for m := range f.spare {
			if second && f.spare[m] > 0 {
				f.spare[m] -= f.pushMember(int32(m), f.spare[m])
			}
		}
	}
}

// reach searches breadth-first from whatever has too much; it reports whether
// room was found. Topic classes stand in the queue as they are, member classes
// as their complement.
func (f *flow) reach(second bool) bool {
	fill(f.topicDepth, -1)
	fill(f.memberDepth, -1)
	f.queue, f.sink = f.queue[:0], -1
	for t, left := range f.left {
		if left > 0 {
			f.topicDepth[t] = 0
			f.queue = append(f.queue, int32(t))
		}
	}
	for m, spare := range f.spare {
		if second && spare > 0 {
			f.memberDepth[m] = 0
			f.queue = append(f.queue, ^int32(m))
		}
	}
	for h := 0; h < len(f.queue); h++ {
		if v := f.queue[h]; v >= 0 {
			f.visitTopic(v)
		} else {
			f.visitMember(^v)
		}
	}
	return f.sink >= 0
}

func (f *flow) visitTopic(t int32) {
	depth := f.topicDepth[t]
	if f.sink >= 0 && depth >= f.sink {
		return
	}
	for _, m := range f.member[f.start[t]:f.start[t+1]] {
		if f.memberDepth[m] >= 0 {
			continue
		}
		f.memberDepth[m] = depth + 1
		if f.room[m] > 0 {
			f.sink = depth + 1
		}
		f.queue = append(f.queue, ^m)
	}
}

func (f *flow) visitMember(m int32) {
	depth := f.memberDepth[m]
	if f.sink >= 0 && depth >= f.sink {
		return
	}
	for _, a := range f.into.Of(m) {
		if t := f.topic[a]; f.amount[a] > 0 && f.topicDepth[t] < 0 {
			f.topicDepth[t] = depth + 1
			f.queue = append(f.queue, t)
		}
	}
}

// pushTopic sends up to limit partitions of t along the search's layers.
func (f *flow) pushTopic(t, limit int32) (sent int32) {
	for ; f.topicNext[t] < f.start[t+1]; f.topicNext[t]++ {
		a := f.topicNext[t]
		m := f.member[a]
		if f.memberDepth[m] != f.topicDepth[t]+1 {
			continue
		}
		n := f.pushMember(m, limit-sent)
		f.amount[a] += n
		if sent += n; sent == limit {
			return sent
		}
	}
	return sent
}

// pushMember finds a place for up to limit partitions: in m's own room, or in
// that of others by taking partitions from m.
func (f *flow) pushMember(m, limit int32) (sent int32) {
	sent = min(f.room[m], limit)
	f.room[m] -= sent
	if sent == limit || f.memberDepth[m] >= f.sink {
		return sent
	}
	for ; f.memberNext[m] < f.into.Start[m+1]; f.memberNext[m]++ {
		a := f.into.Items[f.memberNext[m]]
		t := f.topic[a]
		if f.amount[a] == 0 || f.topicDepth[t] != f.memberDepth[m]+1 {
			continue
		}
		n := f.pushTopic(t, min(limit-sent, f.amount[a]))
		f.amount[a] -= n
		if sent += n; sent == limit {
			return sent
		}
	}
	return sent
}

func fill(s []int32, v int32) {
	for i := range s {
		s[i] = v
	}
}
