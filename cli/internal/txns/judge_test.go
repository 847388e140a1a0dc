package txns

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

var epoch0 = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func at(n int64) *int64 { return &n }

// open is a transaction of a producer in t partition 0.
func open(id int64, epoch int16, start int64) Producer {
	return Producer{Place: Place{"t", 0}, ProducerID: id, Epoch: epoch, CoordinatorEpoch: -1, StartOffset: at(start)}
}

// idOf is a transactional id whose last transaction began two minutes ago, with a timeout of one hour, in t partition 0.
func idOf(id int64, epoch int16, state string) Transaction {
	began := epoch0.Add(-2 * time.Minute)
	return Transaction{ID: "id", State: state, ProducerID: id, Epoch: epoch, TimeoutMs: 3_600_000, Started: &began, Partitions: Partitions{"t": {0, 3}}}
}

// elsewhere has the transaction in other partitions.
func elsewhere(t Transaction) Transaction {
	t.Partitions = Partitions{"t": {1}, "u": {0}}
	return t
}

func hasty(t Transaction) Transaction {
	t.TimeoutMs = 5_000
	return t
}

// TestWhatHangs: KIP-664, and what may happen while one looks.
func TestWhatHangs(t *testing.T) {
	p := open(7, 3, 40)
	none := p
	none.StartOffset = nil
	for _, c := range []struct {
		name  string
		known []Transaction
		again []Producer
		want  Verdict
		why   string
	}{
		{"nobody knows the producer", nil, []Producer{p}, Hanging, "no transactional id has this producer id"},
		{"only another producer is known", []Transaction{idOf(8, 3, "Ongoing")}, []Producer{p}, Hanging, "no transactional id"},
		{"its transaction is open", []Transaction{idOf(7, 3, "Ongoing")}, []Producer{p}, Ongoing, "its timeout of 1h0m0s"},
		{"open, but elsewhere", []Transaction{elsewhere(idOf(7, 3, "Ongoing"))}, []Producer{p}, Hanging, "does not have this partition"},
		{"open with a later epoch", []Transaction{idOf(7, 4, "Ongoing")}, []Producer{p}, Ongoing, "of epoch 3, and ends with the transaction of epoch 4"},
		{"open for too long", []Transaction{hasty(idOf(7, 3, "Ongoing"))}, []Producer{p}, Overdue, "after 5s"},
		{"to be committed", []Transaction{idOf(7, 3, "PrepareCommit")}, []Producer{p}, Ending, "still to write the marker"},
		{"to be aborted, with the epoch of the marker", []Transaction{idOf(7, 4, "PrepareAbort")}, []Producer{p}, Ending, "still to write the marker"},
		{"to be aborted, and marked here", []Transaction{elsewhere(idOf(7, 4, "PrepareAbort"))}, []Producer{p}, Hanging, "does not have this partition"},
		{"committed", []Transaction{idOf(7, 4, "CompleteCommit")}, []Producer{p}, Hanging, "no open transaction"},
		{"aborted", []Transaction{idOf(7, 3, "CompleteAbort")}, []Producer{p}, Hanging, "no open transaction"},
		{"initialised anew", []Transaction{idOf(7, 5, "Empty")}, []Producer{p}, Hanging, "no open transaction"},
		{"two ids, the second has it", []Transaction{idOf(7, 3, "Empty"), idOf(7, 3, "Ongoing")}, []Producer{p}, Ongoing, ""},
		{"it has ended meanwhile", nil, []Producer{none}, "", ""},
		{"its producer is forgotten meanwhile", nil, nil, "", ""},
		{"it has ended, and the next one has begun", nil, []Producer{open(7, 4, 50)}, "", ""},
		{"another producer is at its offset", nil, []Producer{open(8, 3, 40)}, "", ""},
	} {
		found := Judge([]Producer{p, none}, c.known, c.again, epoch0)
		got, why := Verdict(""), ""
		if len(found) == 1 {
			got, why = found[0].Verdict, found[0].Why
		}
		if len(found) > 1 || got != c.want || !strings.Contains(why, c.why) {
			t.Errorf("%s: %q, %q; want %q, %q", c.name, got, why, c.want, c.why)
		}
	}
}

func TestFindingsTellWhoseTheyAre(t *testing.T) {
	other := open(9, 0, 2)
	other.Place = Place{"a", 1}
	seen := []Producer{open(7, 3, 40), other, open(8, 1, 30)}
	found := Judge(seen, []Transaction{idOf(7, 3, "Ongoing"), idOf(8, 1, "CompleteAbort")}, seen, epoch0)
	var lines []string
	for _, f := range found {
		lines = append(lines, fmt.Sprint(f.Place, " ", *f.StartOffset, " ", f.Verdict, " ", f.ID, " ", f.State))
	}
	if got, want := strings.Join(lines, "; "), "a partition 1 2 hanging  ; t partition 0 30 hanging id CompleteAbort; t partition 0 40 ongoing id Ongoing"; got != want {
		t.Errorf("%s", got)
	}
	if f := found[2]; f.Since == nil || *f.OpenMs != 120_000 {
		t.Errorf("%+v: a coordinator knows since when", f)
	}
	if f := found[1]; f.Since != nil || f.OpenMs != nil {
		t.Errorf("%+v: the last transaction's begin is not this one's", f)
	}
}

func TestWhoHoldsCommittedReadersBack(t *testing.T) {
	f := Finding{Producer: open(7, 3, 40)}
	for _, c := range []struct {
		ends    Ends
		blocked int64
		holds   bool
	}{{Ends{High: 100, Stable: 40}, 60, true}, {Ends{High: 100, Stable: 30}, 70, false}, {Ends{High: 40, Stable: 41}, 0, false}} {
		if f.Measure(c.ends); f.Blocked != c.blocked || f.Holds != c.holds {
			t.Errorf("%+v: %d, %v", c.ends, f.Blocked, f.Holds)
		}
	}
}

func TestFindingsAreKeptByVerdictAndAge(t *testing.T) {
	hour, minute := epoch0.Add(-time.Hour), epoch0.Add(-time.Minute)
	old, young, written, unknown := Finding{Verdict: Hanging}, Finding{Verdict: Hanging}, Finding{Verdict: Hanging}, Finding{Verdict: Hanging}
	old.ProducerID, young.ProducerID, written.ProducerID, unknown.ProducerID = 1, 2, 3, 4
	old.Begun(hour, epoch0)
	young.Begun(minute, epoch0)
	young.LastTimestamp = &hour // whatever its records say
	written.LastTimestamp = &hour
	all := []Finding{old, young, written, unknown, {Producer: Producer{ProducerID: 5}, Verdict: Ongoing}}
	for _, c := range []struct {
		longer   time.Duration
		verdicts []Verdict
		want     string
	}{
		{0, []Verdict{Hanging}, "[1 2 3 4]"}, {10 * time.Minute, []Verdict{Hanging}, "[1 3 4]"}, {2 * time.Hour, []Verdict{Hanging}, "[4]"},
		{0, []Verdict{Ongoing}, "[5]"}, {0, []Verdict{Overdue}, "[]"}, {0, []Verdict{Hanging, Ongoing}, "[1 2 3 4 5]"},
	} {
		ids := []int64{}
		for _, f := range Of(all, c.longer, epoch0, c.verdicts...) {
			ids = append(ids, f.ProducerID)
		}
		if got := fmt.Sprint(ids); got != c.want {
			t.Errorf("%v %v: %s, want %s", c.longer, c.verdicts, got, c.want)
		}
	}
}

func TestTheCommandIsWhatAShellReads(t *testing.T) {
	f := Finding{Producer: open(7, 3, 40), Verdict: Hanging}
	if got, want := f.AbortCommand(nil), "skein txn abort --topic t --partition 0 --start-offset 40 --execute"; got != want {
		t.Errorf("%s", got)
	}
	f.Verdict, f.ID = Overdue, "it's a $HOME"
	if got, want := f.AbortCommand([]string{"--bootstrap", "a:1,b:2", "--tls=true"}), `skein txn abort --transactional-id 'it'\''s a $HOME' --bootstrap a:1,b:2 --tls=true --execute`; got != want {
		t.Errorf("%s", got)
	}
	for _, v := range []Verdict{Ongoing, Ending} {
		if f.Verdict = v; f.AbortCommand(nil) != "" {
			t.Errorf("%s: %s", v, f.AbortCommand(nil))
		}
	}
	for word, want := range map[string]string{"": "''", "a-b_c.d/e": "a-b_c.d/e", "a b": "'a b'", "*": "'*'", "ä": "'ä'", "~x": "'~x'", "a;b": "'a;b'", "a\nb": "'a\nb'"} {
		if got := Command(word); got != want {
			t.Errorf("%q: %s", word, got)
		}
	}
}
