package history

import (
	"maps"
	"slices"
)

// offsets: a group's offset is that of the last transaction that counts, for everybody who looks at any time.
func (j *judge) offsets() {
	for group, at := range j.committers() {
		for _, p := range at {
			if want, got := j.lastOffset(group, p), j.finalOffset(group, p); want != got {
				j.broken(RuleOffset, "%s has %d for %v at the end, want %d", group, got, p, want)
			}
		}
	}
	type view struct {
		reader, group string
		at            Partition
	}
	last := map[view]OffsetRead{}
	for _, r := range j.Fetched {
		v := view{r.Reader, r.Group, r.At}
		if before, seen := last[v]; seen && before.Next > r.Next {
			j.broken(RuleBack, "%s has %d for %v at %v, and had %d at %v", r.Group, r.Next, r.At, r.Got, before.Next, before.Got)
		}
		last[v] = r
		j.offsetRead(&r)
	}
}

// committers are the groups of transactions, each with its partitions.
func (j *judge) committers() map[string][]Partition {
	all := map[string][]Partition{}
	for _, t := range j.Txns {
		for _, o := range t.Offsets {
			if !slices.Contains(all[o.Group], o.At) {
				all[o.Group] = append(all[o.Group], o.At)
			}
		}
	}
	return all
}

// counted says whether a transaction was committed: acknowledged, or seen at the end.
func (j *judge) counted(t *Txn) bool {
	return t.Outcome == Committed || t.Outcome == Asked && j.visible[t] > 0
}

// lastOffset is the highest offset of the transactions that were committed; -1: there is none. Those of one group and
// partition commit rising offsets.
func (j *judge) lastOffset(group string, at Partition) int64 {
	last := int64(-1)
	for _, t := range j.Txns {
		for _, o := range t.Offsets {
			if o.Group == group && o.At == at && j.counted(t) {
				last = max(last, o.Next)
			}
		}
	}
	return last
}

func (j *judge) finalOffset(group string, at Partition) int64 {
	if next, there := j.Final.Offsets[group][at]; there {
		return next
	}
	return -1
}

// offsetRead: an offset that was fetched is that of a transaction whose commit was asked for, and no older than the last that
// was acknowledged before.
func (j *judge) offsetRead(r *OffsetRead) {
	known, least := r.Next < 0, int64(-1)
	for _, t := range j.Txns {
		for _, o := range t.Offsets {
			if o.Group != r.Group || o.At != r.At {
				continue
			}
			if t.Outcome == Committed && t.Ended <= r.Sent {
				least = max(least, o.Next)
			}
			known = known || o.Next == r.Next && t.mayCount() && t.Asked > 0 && t.Asked <= r.Got && j.counted(t)
		}
	}
	switch {
	case r.Next < least:
		j.broken(RuleOffset, "%s has %d for %v at %v, and %d was acknowledged", r.Group, r.Next, r.At, r.Got, least)
	case !known:
		j.broken(RuleOffset, "%s has %d for %v at %v, which no committed transaction has said", r.Group, r.Next, r.At, r.Got)
	}
}

// transforms: of each input there is exactly one output, and the group has come to its end.
func (j *judge) transforms() {
	outputs := map[Source]int{}
	for value, n := range j.times {
		if w := j.owners[value].write; w != nil && w.Source != nil {
			outputs[*w.Source] += n
		}
	}
	for _, group := range slices.Sorted(maps.Keys(j.Final.Inputs)) {
		for _, at := range j.Final.Inputs[group] {
			for _, s := range j.Final.Logs[at].Committed {
				if n := outputs[Source{group, at, s.Offset}]; n != 1 {
					j.broken(RuleExactly, "%s has made %d records of that at %d of %v", group, n, s.Offset, at)
				}
			}
			if high := j.Final.Logs[at].High; high > 0 && j.finalOffset(group, at) != high {
				j.broken(RuleExactly, "%s has come to %d of %d in %v", group, j.finalOffset(group, at), high, at)
			}
		}
	}
}

// zombies: what is sent after a client was told its epoch, with an older one, is refused (R-E4).
func (j *judge) zombies() {
	for _, a := range j.Accepted {
		for _, f := range j.Fences {
			if f.ID == a.ID && f.Got < a.Sent && f.Producer == a.Producer && f.Epoch > a.Epoch {
				j.broken(RuleZombie, "%s with epoch %d of %s was accepted at %v, and the epoch was %d from %v on", a.What, a.Epoch, a.ID, a.Sent, f.Epoch, f.Got)
				break
			}
		}
	}
}
