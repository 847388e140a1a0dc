package group

// Sources groups the partitions that differ in nothing but their number: they
// have the same subscribers, and for assignors that look at more, replicas in
// the same racks and the same former owner.
type Sources struct {
	// Class is the topic class of each source, ascending.
	Class []int32
	// Runs[Start[i]:Start[i+1]] are the partitions of source i, ascending.
	Start []int32
	Runs  []Run
}

// Run is a row of partitions of one topic, by their place among all.
type Run struct{ Topic, From, To int32 }

// Of returns the partitions of source s.
func (s *Sources) Of(source int32) []Run { return s.Runs[s.Start[source]:s.Start[source+1]] }

// Supply returns how many partitions source s has.
func (s *Sources) Supply(source int32) (n int32) {
	for _, r := range s.Of(source) {
		n += r.To - r.From
	}
	return n
}

// SourcesByTopic makes one source of every topic class.
func (g *Group) SourcesByTopic() Sources {
	s := Sources{Class: g.Positions(g.ClassTopics.Len()), Start: g.ClassTopics.Start, Runs: make([]Run, len(g.ClassTopics.Items))}
	for i, t := range g.ClassTopics.Items {
		s.Runs[i] = Run{t, g.Base[t], g.Base[t+1]}
	}
	return s
}

// SourcesBy makes one source of all partitions of a topic class that have the
// same kind. Kinds are numbered in the order in which they come up, so that
// the result depends on nothing else.
func (g *Group) SourcesBy(kind func(partition int32) Kind) Sources {
	s := Sources{Start: []int32{0}}
	for class := range int32(g.ClassTopics.Len()) {
		number := map[Kind]int32{}
		var of []int32 // kind number of each partition of the class
		for _, t := range g.ClassTopics.Of(class) {
			for p := g.Base[t]; p < g.Base[t+1]; p++ {
				k := kind(p)
				n, seen := number[k]
				if !seen {
					n = int32(len(number))
					number[k] = n
				}
				of = append(of, n)
			}
		}
		g.addSources(&s, class, g.Invert(of, len(number)))
	}
	return s
}

// Kind is what makes partitions of one topic class differ.
type Kind struct{ Racks, Former int32 }

// addSources appends one source for each list of positions among the class's partitions.
func (g *Group) addSources(s *Sources, class int32, kinds Lists) {
	topics := g.ClassTopics.Of(class)
	for k := range int32(kinds.Len()) {
		t, skipped := 0, int32(0) // the topic that comes next, and the positions before it
		for _, i := range kinds.Of(k) {
			for i-skipped >= g.Count(topics[t]) {
				skipped += g.Count(topics[t])
				t++
			}
			s.extend(topics[t], g.Base[topics[t]]+i-skipped)
		}
		s.Class = append(s.Class, class)
		s.Start = append(s.Start, int32(len(s.Runs)))
	}
}

// extend adds one partition to the source that is being filled.
func (s *Sources) extend(topic, partition int32) {
	if n := len(s.Runs); n > int(s.Start[len(s.Start)-1]) && s.Runs[n-1].To == partition && s.Runs[n-1].Topic == topic {
		s.Runs[n-1].To++
		return
	}
	s.Runs = append(s.Runs, Run{topic, partition, partition + 1})
}
