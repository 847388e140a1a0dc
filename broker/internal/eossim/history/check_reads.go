package history

import (
	"slices"
	"time"
)

// reads: no reader ever sees what is not committed, and all that is committed, in the order in which it stays.
func (j *judge) reads() {
	type view struct {
		reader string
		at     Partition
	}
	next := map[view]int64{}
	for i := range j.Reads {
		r := &j.Reads[i]
		v := view{r.Reader, r.At}
		if from, begun := next[v]; begun && from != r.From {
			j.broken(RuleRepeat, "%s reads %v from %d after it has come to %d", r.Reader, r.At, r.From, from)
		}
		next[v] = r.Next
		for _, s := range r.Records {
			j.mayBeSeen(r, s)
		}
		j.stays(r)
	}
}

func (j *judge) mayBeSeen(r *Read, s Seen) {
	o := j.owners[s.Value]
	switch {
	case o.write == nil:
		j.broken(RuleUnknown, "%s reads %s at %d of %v", r.Reader, s.Value, s.Offset, r.At)
	case o.txn != nil && (o.txn.Asked == 0 || o.txn.Asked > r.Got || !o.txn.mayCount()):
		j.broken(RuleVisible, "%s reads %s at %d of %v at %v, of %v", r.Reader, s.Value, s.Offset, r.At, r.Got, o.txn)
	}
}

// stays: what was read between two offsets is what counts between them at the end.
func (j *judge) stays(r *Read) {
	var want []Seen
	for _, s := range j.Final.Logs[r.At].Committed {
		if s.Offset >= r.From && s.Offset < r.Next {
			want = append(want, s)
		}
	}
	for i := range max(len(want), len(r.Records)) {
		switch {
		case i >= len(r.Records) || i < len(want) && want[i].Offset < r.Records[i].Offset:
			j.broken(RuleRepeat, "%s has read %v from %d to %d at %v and not seen %s at %d", r.Reader, r.At, r.From, r.Next, r.Got, want[i].Value, want[i].Offset)
			return
		case i >= len(want) || want[i] != r.Records[i]:
			j.broken(RuleRepeat, "%s has read %s at %d of %v at %v, which is not there at the end", r.Reader, r.Records[i].Value, r.Records[i].Offset, r.At, r.Got)
			return
		}
	}
}

// held: what holds up readers is a transaction that is open, and not for longer than it may be (R-E9). A commit that was
// acknowledged before the fetch was sent has moved the last stable offset.
func (j *judge) held() {
	for i := range j.Reads {
		r := &j.Reads[i]
		if r.Stable >= r.Synced {
			continue
		}
		t := j.txnFrom(r.At, r.Stable)
		switch {
		case t == nil:
			j.broken(RuleHeld, "%v is stable up to %d of %d at %v, and there begins no transaction", r.At, r.Stable, r.Synced, r.Got)
		case j.excused(t, r.Sent):
		case t.Ended > 0 && t.Ended < r.Sent:
			j.broken(RuleHeld, "%v is stable up to %d of %d at %v, where %v begins, which ended at %v", r.At, r.Stable, r.Synced, r.Got, t, t.Ended)
		case j.fenced(t, r.Sent):
			j.broken(RuleHeld, "%v is stable up to %d of %d at %v, where %v begins, and there has been another producer since", r.At, r.Stable, r.Synced, r.Got, t)
		case r.Sent > j.latest(t, r.Sent):
			j.broken(RuleOld, "%v is stable up to %d of %d at %v, where %v begins, which began at %v with a timeout of %v",
				r.At, r.Stable, r.Synced, r.Got, t, t.Began, t.Timeout)
		}
	}
}

// excused says that the disk was full while a transaction was there, not long before a time.
func (j *judge) excused(t *Txn, now time.Duration) bool {
	return slices.ContainsFunc(j.Full, func(s Span) bool {
		return t.Began < s.To && (t.Ended == 0 || s.From < t.Ended) && s.From < now && now < s.To+j.Slack
	})
}

// fenced says that somebody was told a later epoch of the producer of t before a time.
func (j *judge) fenced(t *Txn, before time.Duration) bool {
	return slices.ContainsFunc(j.Fences, func(f Fence) bool {
		return f.ID == t.ID && f.Producer == t.Producer && f.Epoch > t.Epoch && f.Got < before
	})
}

// latest is until when a transaction may be open: its timeout, or the start of the broker that was down then, or the end of a full disk, and a while to
// write the abort. A transaction begins with its first request, so that the broker's clock may have started as late as
// that was answered or given up; Slack has room for it.
func (j *judge) latest(t *Txn, now time.Duration) time.Duration {
	out := t.Began + t.Timeout
	for _, s := range j.Starts {
		if s <= now {
			out = max(out, s)
		}
	}
	for _, s := range j.Full {
		if s.From <= now {
			out = max(out, s.To)
		}
	}
	return out + j.Slack
}
