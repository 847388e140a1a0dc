package assign

import (
	"slices"

	"github.com/skeinstream/skein/assign/internal/group"
)

// rackedTopic is one topic while ranges are laid out by rack. The steps are
// those of KIP-881 to the letter, since the result must be Kafka's.
type rackedTopic struct {
	topic     int32
	class     int32
	members   []int32
	given     []int32 // by position in members
	each      int32   // what every member gets at least
	extra     int32   // how many more members may get one more
	racks     [][]string
	canMatter bool
}

// rackedTopics returns the subscribed topics, or nil when racks matter to none.
func (x *index) rackedTopics(subscribers group.Lists) []*rackedTopic {
	var topics []*rackedTopic
	matter := false
	for t, class := range x.TopicClass {
		if class == group.None {
			continue
		}
		s := &rackedTopic{topic: int32(t), class: class, members: subscribers.Of(class), racks: x.topic(int32(t)).Racks}
		s.canMatter = x.racksCanMatter(s)
		matter = matter || s.canMatter
		topics = append(topics, s)
	}
	if !matter {
		return nil
	}
	for _, s := range topics {
		n := x.Count(s.topic)
		s.each, s.extra = n/int32(len(s.members)), n%int32(len(s.members))
		s.given = x.Ints(len(s.members))
	}
	return topics
}

// racksCanMatter: some member's rack is that of a replica, and not every
// partition has replicas in the same racks (R-A23).
func (x *index) racksCanMatter(s *rackedTopic) bool {
	if !slices.ContainsFunc(s.members, func(m int32) bool { return x.member(m).Rack != "" }) {
		return false
	}
	all := map[string]bool{}
	for _, racks := range s.racks {
		for _, r := range racks {
			if r != "" {
				all[r] = true
			}
		}
	}
	if !slices.ContainsFunc(s.members, func(m int32) bool { return all[x.member(m).Rack] }) {
		return false
	}
	for p := range x.Count(s.topic) {
		if !holdsAll(s.racksOf(p), all) {
			return true
		}
	}
	return false
}

func holdsAll(racks []string, all map[string]bool) bool {
	for r := range all {
		if !slices.Contains(racks, r) {
			return false
		}
	}
	return true
}

func (s *rackedTopic) racksOf(partition int32) []string {
	if int(partition) < len(s.racks) {
		return s.racks[partition]
	}
	return nil
}

// matches reports whether member i may have a partition for its rack's sake;
// one without a rack may have any.
func (s *rackedTopic) matches(x *index, i int, partition int32) bool {
	rack := x.member(s.members[i]).Rack
	return rack == "" || slices.Contains(s.racksOf(partition), rack)
}

// room returns how many more partitions member i may get.
func (s *rackedTopic) room(i int) int32 {
	return max(0, s.each+min(s.extra, 1)-s.given[i])
}

func (s *rackedTopic) give(x *index, owner []int32, i int, n int32, partitions ...int32) {
	for _, p := range partitions {
		owner[x.Base[s.topic]+p] = s.members[i]
	}
	if s.given[i] += n; s.given[i] > s.each {
		s.extra--
	}
}

func assignRangesByRack(x *index, topics []*rackedTopic, owner []int32) {
	for _, together := range copartitioned(x, topics) {
		switch s := together[0]; {
		case len(together) > 1:
			assignTogether(x, together, owner)
		case s.canMatter:
			s.assign(x, owner, func(i int, p int32) bool { return s.matches(x, i, p) })
		}
	}
	for _, s := range topics {
		s.assign(x, owner, func(int, int32) bool { return true })
	}
}

// copartitioned groups topics with the same subscribers and the same count.
func copartitioned(x *index, topics []*rackedTopic) [][]*rackedTopic {
	type alike struct{ class, count int32 }
	at := map[alike]int{}
	var groups [][]*rackedTopic
	for _, s := range topics {
		key := alike{s.class, x.Count(s.topic)}
		i, seen := at[key]
		if !seen {
			i = len(groups)
			at[key] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], s)
	}
	return groups
}

// assignTogether gives partition p of all topics to the first member that
// stands in a rack of every one of them.
func assignTogether(x *index, topics []*rackedTopic, owner []int32) {
	if !slices.ContainsFunc(topics[0].members, func(m int32) bool { return x.member(m).Rack != "" }) {
		return
	}
	open := x.arena.Positions(len(topics[0].members))
	for p := range x.Count(topics[0].topic) {
		i := slices.IndexFunc(open, func(i int32) bool {
			return !slices.ContainsFunc(topics, func(s *rackedTopic) bool { return s.room(int(i)) == 0 || !s.matches(x, int(i), p) })
		})
		if i < 0 {
			continue
		}
		m := int(open[i])
		for _, s := range topics {
			s.give(x, owner, m, 1, p)
		}
		if !slices.ContainsFunc(topics, func(s *rackedTopic) bool { return s.room(m) > 0 }) {
			if open = slices.Delete(open, i, i+1); len(open) == 0 {
				return
			}
		}
	}
}

// assign gives every member, in order, the first free partitions it may have,
// as many as there is room for.
func (s *rackedTopic) assign(x *index, owner []int32, may func(i int, p int32) bool) {
	var list []int32
	for i := range s.members {
		list = list[:0]
		for p := range x.Count(s.topic) {
			if int32(len(list)) == s.room(i) {
				break
			}
			if owner[x.Base[s.topic]+p] == group.None && may(i, p) {
				list = append(list, p)
			}
		}
		if len(list) > 0 {
			s.give(x, owner, i, int32(len(list)), list...)
		}
	}
}
