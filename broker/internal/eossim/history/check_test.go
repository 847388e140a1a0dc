package history

import (
	"slices"
	"testing"
	"time"
)

var (
	in  = Partition{"in", 0}
	out = Partition{"out", 0}
	two = Partition{"out", 1}
)

const second = time.Second

// good is a history without a violation: two transactions that were committed, the second transforms two records, one that was
// aborted and one that was open until its time was up. Of the log of out: 0 a.0 | 1 b.0 (aborted) | 2 marker | 3 c.0, 4 c.1 | 5
// marker | 6 d.0 (open) | 7 marker of d.
func good() *History {
	a := &Txn{Number: 0, ID: "a", Producer: 1, Epoch: 0, Began: 1 * second, Timeout: 5 * second, Outcome: Committed, Asked: 2 * second, Ended: 3 * second}
	a.Writes = []*Write{{At: out, Key: "k", Order: 1, Value: "a.0", Acked: true}, {At: two, Key: "l", Order: 1, Value: "a.1", Acked: true}}
	b := &Txn{Number: 1, ID: "a", Producer: 1, Epoch: 1, Began: 4 * second, Timeout: 5 * second, Outcome: Aborted, Ended: 5 * second}
	b.Writes = []*Write{{At: out, Key: "k", Order: 2, Value: "b.0", Acked: true}}
	c := &Txn{Number: 2, ID: "t", Producer: 2, Epoch: 0, Began: 6 * second, Timeout: 5 * second, Outcome: Committed, Asked: 7 * second, Ended: 8 * second}
	for i := range int64(2) {
		c.Writes = append(c.Writes, &Write{At: out, Key: "t", Order: int(i), Value: []string{"c.0", "c.1"}[i], Acked: true, Source: &Source{"g", in, i}})
	}
	c.Offsets = []Offset{{"g", in, 2}}
	d := &Txn{Number: 3, ID: "a", Producer: 1, Epoch: 2, Began: 9 * second, Timeout: 5 * second}
	d.Writes = []*Write{{At: out, Key: "k", Order: 3, Value: "d.0", Acked: true}}
	h := &History{Txns: []*Txn{a, b, c, d}, Starts: []time.Duration{0}, Slack: second}
	for _, v := range []string{"p.0", "p.1"} {
		h.Plain = append(h.Plain, &Write{At: in, Key: "p", Order: len(h.Plain), Value: v, Acked: true})
	}
	h.Final = Final{
		Logs: map[Partition]Log{
			in:  {All: []Seen{{0, "p.0"}, {1, "p.1"}}, Committed: []Seen{{0, "p.0"}, {1, "p.1"}}, Stable: 2, High: 2},
			out: {All: []Seen{{0, "a.0"}, {1, "b.0"}, {3, "c.0"}, {4, "c.1"}, {6, "d.0"}}, Committed: []Seen{{0, "a.0"}, {3, "c.0"}, {4, "c.1"}}, Stable: 8, High: 8},
			two: {All: []Seen{{0, "a.1"}}, Committed: []Seen{{0, "a.1"}}, Stable: 2, High: 2},
		},
		Offsets: map[string]map[Partition]int64{"g": {in: 2}},
		Inputs:  map[string][]Partition{"g": {in}},
	}
	h.Reads = []Read{
		{Reader: "r", At: out, Sent: 4 * second, Got: 5 * second, From: 0, Next: 1, Stable: 1, Synced: 2, Records: []Seen{{0, "a.0"}}},
		{Reader: "r", At: out, Sent: 9 * second, Got: 10 * second, From: 1, Next: 6, Stable: 6, Synced: 7, Records: []Seen{{3, "c.0"}, {4, "c.1"}}},
	}
	h.Fetched = []OffsetRead{
		{Reader: "r", Group: "g", At: in, Sent: second, Got: 2 * second, Next: -1},
		{Reader: "r", Group: "g", At: in, Sent: 9 * second, Got: 10 * second, Next: 2},
	}
	h.Fences = []Fence{{"a", 1, 0, second / 2}, {"a", 1, 1, 3 * second}, {"a", 1, 2, 5 * second}}
	h.Accepted = []Accepted{{"a", 1, 0, 2 * second, "a batch"}, {"a", 1, 1, 4 * second, "a batch"}}
	return h
}

func TestAGoodHistory(t *testing.T) {
	for _, v := range Check(good()) {
		t.Error(v)
	}
}

// change edits the log of a partition at the end.
func change(h *History, at Partition, edit func(l *Log)) {
	l := h.Final.Logs[at]
	edit(&l)
	h.Final.Logs[at] = l
}

// planted is a violation in a history that was good.
type planted struct {
	what  string
	rule  string
	plant func(h *History)
}

func plantedInRecords() []planted {
	return []planted{
		{"a commit that was acknowledged is not there", RuleLost, func(h *History) {
			change(h, out, func(l *Log) { l.Committed = slices.DeleteFunc(l.Committed, func(s Seen) bool { return s.Offset == 0 }) })
			change(h, two, func(l *Log) { l.Committed = nil })
		}},
		{"a batch of an idempotent producer is not there", RuleLost, func(h *History) { change(h, in, func(l *Log) { l.Committed = l.Committed[:1] }) }},
		{"an aborted transaction counts", RuleVisible, func(h *History) {
			change(h, out, func(l *Log) { l.Committed = slices.Insert(l.Committed, 1, Seen{1, "b.0"}) })
		}},
		{"a transaction counts that nobody has ended", RuleVisible, func(h *History) {
			change(h, out, func(l *Log) { l.Committed = append(l.Committed, Seen{6, "d.0"}) })
		}},
		{"a commit that was refused each time counts", RuleVisible, func(h *History) { h.Txns[0].Outcome = Refused }},
		{"a record is read before its commit was asked for", RuleVisible, func(h *History) { h.Txns[2].Asked = 11 * second }},
		{"a reader sees what is aborted, and later it is gone", RuleVisible, func(h *History) {
			h.Reads[1].Records = slices.Insert(h.Reads[1].Records, 0, Seen{1, "b.0"})
		}},
		{"a transaction counts in one of two partitions", RuleTorn, func(h *History) { change(h, two, func(l *Log) { l.Committed = nil }) }},
		{"one whose end is not known counts in one of two", RuleTorn, func(h *History) {
			h.Txns[0].Outcome = Asked
			change(h, two, func(l *Log) { l.Committed = nil })
		}},
		{"a record is there twice", RuleTwice, func(h *History) {
			change(h, two, func(l *Log) { l.Committed = append(l.Committed, Seen{1, "a.1"}) })
		}},
		{"a record that nobody has sent", RuleUnknown, func(h *History) {
			change(h, two, func(l *Log) { l.Committed = append(l.Committed, Seen{1, "x"}) })
		}},
		{"a record is read that nobody has sent", RuleUnknown, func(h *History) { h.Reads[0].Records[0].Value = "x" }},
		{"the records of a key have changed places", RuleOrder, func(h *History) { h.Txns[2].Writes[0].Order = 5 }},
	}
}

func plantedInReads() []planted {
	return []planted{
		{"a reader has missed a record", RuleRepeat, func(h *History) { h.Reads[1].Records = h.Reads[1].Records[1:] }},
		{"a reader has missed the last record", RuleRepeat, func(h *History) { h.Reads[1].Records = h.Reads[1].Records[:1] }},
		{"what was read is another record now", RuleRepeat, func(h *History) { h.Reads[0].Records[0].Offset = 1; h.Reads[0].Next = 2; h.Reads[1].From = 2 }},
		{"a reader has jumped", RuleRepeat, func(h *History) { h.Reads[1].From = 2 }},
		{"a committed transaction holds readers up", RuleHeld, func(h *History) { h.Reads[1].Stable = 3 }},
		{"one does that ended when the disk was full, but long after that", RuleHeld, func(h *History) {
			h.Full = []Span{{7 * second, 7*second + second/2}}
			h.Reads[1].Stable = 3
		}},
		{"nothing holds readers up", RuleHeld, func(h *History) { h.Reads[1].Stable = 5 }},
		{"a transaction that was fenced holds readers up", RuleHeld, func(h *History) {
			h.Fences = append(h.Fences, Fence{"a", 1, 3, 8 * second})
			h.Txns[3].Began = 7 * second
		}},
		{"a transaction that is out of time holds readers up", RuleOld, func(h *History) { h.Txns[3].Began = 2 * second; h.Txns[3].Epoch = 9 }},
	}
}

func plantedInOffsets() []planted {
	return []planted{
		{"the offset of a committed transaction is lost", RuleOffset, func(h *History) { delete(h.Final.Offsets["g"], in) }},
		{"the offset of an aborted transaction counts", RuleOffset, func(h *History) {
			h.Txns[1].Offsets = []Offset{{"g", in, 4}}
			h.Final.Offsets["g"][in] = 4
		}},
		{"an offset is fetched that no commit has said", RuleOffset, func(h *History) { h.Fetched[0].Next = 1 }},
		{"an offset is fetched before its commit was asked for", RuleOffset, func(h *History) { h.Fetched[0].Next = 2 }},
		{"an offset is fetched that is older than the last", RuleOffset, func(h *History) { h.Fetched[1].Next = -1 }},
		{"an offset goes back", RuleBack, func(h *History) { h.Fetched[0], h.Fetched[1] = h.Fetched[1], h.Fetched[0] }},
		{"an input was transformed twice", RuleExactly, func(h *History) { h.Txns[0].Writes[0].Source = &Source{"g", in, 0} }},
		{"an input was not transformed", RuleExactly, func(h *History) { h.Txns[2].Writes[0].Source = nil }},
		{"a group has not come to the end", RuleExactly, func(h *History) { h.Txns[2].Offsets[0].Next = 1; h.Final.Offsets["g"][in] = 1; h.Fetched[1].Next = 1 }},
		{"an old epoch is served after the new one was told", RuleZombie, func(h *History) {
			h.Accepted = append(h.Accepted, Accepted{"a", 1, 0, 6 * second, "a batch"})
		}},
		{"a transaction hangs", RuleNotQuiet, func(h *History) { change(h, out, func(l *Log) { l.Stable = 6 }) }},
	}
}

// TestEachViolationIsFound plants one thing at a time into a good history.
func TestEachViolationIsFound(t *testing.T) {
	for _, test := range slices.Concat(plantedInRecords(), plantedInReads(), plantedInOffsets()) {
		h := good()
		test.plant(h)
		found := Check(h)
		if !slices.ContainsFunc(found, func(v Violation) bool { return v.Rule == test.rule }) {
			t.Errorf("%s: found %v, want %q", test.what, found, test.rule)
		}
	}
}

// TestWhatIsNotKnownMayBeEither: a commit that nobody has answered may count or not, with everything or nothing.
func TestWhatIsNotKnownMayBeEither(t *testing.T) {
	h := good()
	h.Txns[0].Outcome, h.Txns[0].Ended = Asked, 0
	for _, v := range Check(h) {
		t.Error(v)
	}
	h = good()
	h.Txns[0].Outcome, h.Txns[0].Ended = Asked, 0
	change(h, out, func(l *Log) { l.Committed = l.Committed[1:] })
	change(h, two, func(l *Log) { l.Committed = nil })
	h.Reads[0].Records = nil
	for _, v := range Check(h) {
		t.Error(v)
	}
}

// TestAFullDiskExcusesLateMarkers: a transaction that ended when the disk was full may hold up readers for a while.
func TestAFullDiskExcusesLateMarkers(t *testing.T) {
	h := good()
	h.Full = []Span{{7 * second, 8*second + second/2}}
	h.Reads[1].Stable = 3
	for _, v := range Check(h) {
		t.Error(v)
	}
}

// TestOutcomes: what a client knows after its requests to end a transaction.
func TestOutcomes(t *testing.T) {
	for _, test := range []struct {
		what string
		do   func(x *Txn)
		want Outcome
	}{
		{"no answer", func(x *Txn) { x.Ask(true, 1) }, Asked},
		{"yes", func(x *Txn) { x.Ask(true, 1); x.Answer(true, true, true, 2) }, Committed},
		{"no", func(x *Txn) { x.Ask(true, 1); x.Answer(true, false, false, 2) }, Refused},
		{"no after a try without an answer", func(x *Txn) { x.Ask(true, 1); x.Answer(true, false, true, 2) }, Asked},
		{"an abort", func(x *Txn) { x.Ask(false, 1) }, Aborted},
		{"an abort after that", func(x *Txn) {
			x.Ask(true, 1)
			x.Answer(true, false, true, 2)
			x.Ask(false, 3)
			x.Answer(false, true, false, 4)
		}, Asked},
	} {
		x := &Txn{}
		if test.do(x); x.Outcome != test.want {
			t.Errorf("%s: %v, want %v", test.what, x.Outcome, test.want)
		}
	}
}
