package weigh

import "github.com/skeinstream/skein/assign/internal/group"

// flow spreads the weights of topic classes over member classes as if
// partitions could be split. It begins with the average for everybody; whatever does not
// fit shows topics whose subscribers are too few, and their average is the next
// to try. The last one is the least that is possible.
type flow struct {
	*Problem
	supply   []int64 // by topic class
	most     int64   // per member
	heaviest int64
	amount   []int64 // by subscription of a class
	left     []int64 // by topic class
	room     []int64 // by member class
	into     group.Lists
	from     []int32 // topic class, by subscription of a class

	topicDepth, memberDepth []int32
	next                    []int32
	queue                   []int32
}

func bound(p *Problem) *flow {
	f := &flow{Problem: p, supply: make([]int64, p.Subscribers.Len()), room: make([]int64, p.Members.Len())}
	total := int64(0)
	for t, class := range p.TopicClass {
		if class == group.None {
			continue
		}
		for _, w := range p.Weight[p.Base[t]:p.Base[t+1]] {
			f.supply[class] += w
			total += w
			f.heaviest = max(f.heaviest, w)
		}
	}
	f.into = p.Invert(p.Subscribers.Items, p.Members.Len())
	f.from = make([]int32, len(p.Subscribers.Items))
	for class := range int32(p.Subscribers.Len()) {
		for a := p.Subscribers.Start[class]; a < p.Subscribers.Start[class+1]; a++ {
			f.from[a] = class
		}
	}
	if len(p.MemberClass) > 0 {
		f.most = divideUp(total, int64(len(p.MemberClass)))
	}
	for !f.fits() {
		f.most = f.crowded()
	}
	return f
}

func divideUp(a, b int64) int64 { return (a + b - 1) / b }

// fits computes a largest flow with at most f.most for each member; it reports
// whether everything is placed.
func (f *flow) fits() bool {
	f.amount = make([]int64, len(f.Subscribers.Items))
	f.left = append(f.left[:0], f.supply...)
	for c := range f.room {
		f.room[c] = f.most * int64(f.Members.Size(int32(c)))
	}
	f.topicDepth, f.memberDepth = make([]int32, len(f.supply)), make([]int32, len(f.room))
	f.next = make([]int32, len(f.supply)+len(f.room))
	for f.reach() {
		clear(f.next)
		for t := range f.left {
			f.left[t] -= f.pushTopic(int32(t), f.left[t])
		}
	}
	for _, left := range f.left {
		if left > 0 {
			return false
		}
	}
	return true
}

// crowded returns the average of what the last search reached: all these topics
// can only go to these members.
func (f *flow) crowded() int64 {
	weight, members := int64(0), int64(0)
	for t, d := range f.topicDepth {
		if d >= 0 {
			weight += f.supply[t]
		}
	}
	for c, d := range f.memberDepth {
		if d >= 0 {
			members += int64(f.Members.Size(int32(c)))
		}
	}
	return divideUp(weight, members)
}

func (f *flow) reach() (found bool) {
	for t, left := range f.left {
		f.topicDepth[t] = -1
		if left > 0 {
			f.topicDepth[t] = 0
			f.queue = append(f.queue, int32(t))
		}
	}
	for c := range f.memberDepth {
		f.memberDepth[c] = -1
	}
	for len(f.queue) > 0 {
		v := f.queue[0]
		f.queue = f.queue[1:]
		if v >= 0 {
			found = f.visitTopic(v) || found
		} else {
			f.visitMember(^v)
		}
	}
	return found
}

func (f *flow) visitTopic(t int32) (found bool) {
	for _, c := range f.Subscribers.Of(t) {
		if f.memberDepth[c] < 0 {
			f.memberDepth[c] = f.topicDepth[t] + 1
			found = found || f.room[c] > 0
			f.queue = append(f.queue, ^c)
		}
	}
	return found
}

func (f *flow) visitMember(c int32) {
	for _, a := range f.into.Of(c) {
		if t := f.from[a]; f.amount[a] > 0 && f.topicDepth[t] < 0 {
			f.topicDepth[t] = f.memberDepth[c] + 1
			f.queue = append(f.queue, t)
		}
	}
}

func (f *flow) pushTopic(t int32, limit int64) (sent int64) {
	for n := f.Subscribers.Size(t); f.next[t] < n && sent < limit; f.next[t]++ {
		a := f.Subscribers.Start[t] + f.next[t]
		c := f.Subscribers.Items[a]
		if f.memberDepth[c] != f.topicDepth[t]+1 {
			continue
		}
		k := f.pushMember(c, limit-sent)
		f.amount[a] += k
		if sent += k; sent == limit {
			break
		}
	}
	return sent
}

func (f *flow) pushMember(c int32, limit int64) (sent int64) {
	sent = min(limit, f.room[c])
	f.room[c] -= sent
	next := &f.next[len(f.supply)+int(c)]
	for n := f.into.Size(c); *next < n && sent < limit; *next++ {
		a := f.into.Of(c)[*next]
		t := f.from[a]
		if f.amount[a] == 0 || f.topicDepth[t] != f.memberDepth[c]+1 {
			continue
		}
		k := f.pushTopic(t, min(limit-sent, f.amount[a]))
		f.amount[a] -= k
		if sent += k; sent == limit {
			break
		}
	}
	return sent
}
