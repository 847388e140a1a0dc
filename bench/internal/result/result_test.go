package result

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
)

func TestGainAboveOneIsAhead(t *testing.T) {
	for _, c := range []struct {
		kind         Kind
		ours, theirs float64
		want         float64
	}{
		{ProduceRate, 200, 100, 2},
		{ProduceRate, 50, 100, 0.5},
		{ProduceCPU, 1, 4, 4},
		{Start, 100, 2500, 25},
		{MemoryIdle, 40, 400, 10},
	} {
		if got := Gain(c.kind, c.ours, c.theirs); got != c.want {
			t.Errorf("Gain(%v, %v, %v) = %v, want %v", c.kind, c.ours, c.theirs, got, c.want)
		}
	}
	for _, theirs := range []float64{math.NaN(), 0} {
		if got := Gain(ProduceCPU, 1, theirs); !math.IsNaN(got) {
			t.Errorf("the gain over %v is %v, want NaN", theirs, got)
		}
	}
}

// The bars are the project's own: how much better than the others Skein has to be.
func TestBars(t *testing.T) {
	synced, kfake, loose := Pairs()[0], Pairs()[1], Pairs()[2]
	for _, c := range []struct {
		pair Pair
		kind Kind
		want float64
	}{
		{synced, ProduceRate, 1},
		{synced, ConsumeCPU, 1},
		{synced, ProduceCPU, 2},
		{synced, ProduceP99, 3},
		{loose, ProduceP99, 2},
		{loose, ProduceP999, 1},
		{loose, Start, 20},
		{synced, MemoryIdle, 10},
		{synced, MemoryLoaded, 4},
		{kfake, ProduceRate, level},
		{synced, CommitCPU, 1},
		{kfake, CommitCPU, 1},
		{synced, Txn1Rate, 30},
		{kfake, Txn1Rate, 2},
		{synced, Txn8Rate, 10},
		{loose, TxnCommitP99, 5},
	} {
		if got, ok := c.pair.Bar(c.kind); !ok || got != c.want {
			t.Errorf("%s asks %v of kind %d, want %v", c.pair.Title(), got, c.kind, c.want)
		}
	}
	for _, p := range Pairs() {
		_, ok := p.Bar(ConsumeRate)
		if wants := p.Theirs == KafkaSync || p.Equal && p.Theirs == Kafka; ok != wants {
			t.Errorf("%s has a bar on consuming: %v, want %v", p.Title(), ok, wants)
		}
	}
}

// A limit holds whatever others do, and for ours alone.
func TestLimits(t *testing.T) {
	row := Crews()[0].CPUID()
	for _, c := range []struct {
		ours   float64
		missed bool
	}{{10, false}, {10.5, true}} {
		var all Table
		all.Add(Skein, row, c.ours)
		all.Add(Kfake, row, 100)
		verdicts := all.Verdicts()
		if len(verdicts) != 1 || !verdicts[0].Limits() || verdicts[0].Met() == c.missed {
			t.Errorf("%v: %+v", c.ours, verdicts)
		}
		text := all.Markdown()
		if strings.Contains(text, "| **10.5** | – |") != c.missed || strings.Contains(text, "**100**") || !strings.Contains(text, "Skein: asked at most 10.0, got "+Number(c.ours)+"\n") {
			t.Errorf("%v is shown as\n%s", c.ours, text)
		}
	}
}

func TestRowsAreDistinct(t *testing.T) {
	seen := map[string]bool{}
	for _, row := range Rows() {
		if seen[row.ID] || seen[row.Title] {
			t.Errorf("row %s (%s) is there twice", row.ID, row.Title)
		}
		seen[row.ID], seen[row.Title] = true, true
	}
}

// table has two rows: one ahead, one that misses its bar.
func table() *Table {
	t := &Table{}
	for _, v := range []float64{90, 110, 100} {
		t.Add(Skein, StartID, v)
		t.Add(KafkaSync, StartID, 30*v)
	}
	t.Add(Skein, MemoryLoadedID, 500)
	t.Add(KafkaSync, MemoryLoadedID, 1250)
	return t
}

func TestVerdictsNameMissesFirst(t *testing.T) {
	got := table().Verdicts()
	if len(got) != 2 {
		t.Fatalf("there are %d verdicts, want 2: %+v", len(got), got)
	}
	if got[0].Row.ID != MemoryLoadedID || got[0].Met() || got[0].Got != 2.5 {
		t.Errorf("the first verdict is %+v, want the missed loaded memory", got[0])
	}
	if got[1].Row.ID != StartID || !got[1].Met() || got[1].Got != 30 {
		t.Errorf("the second verdict is %+v, want the start, met", got[1])
	}
}

func TestMarkdown(t *testing.T) {
	text := table().Markdown()
	for _, want := range []string{
		"| **missed:** resident, after load (MB) | 500 | – | – | 1,250 | – | – | **2.50** | – | – | – | – |",
		"| start to first accepted produce (ms) | 100 | – | – | 3,000 | – | – | 30.0 | – | – | – | – |",
		"Bars: 1 missed, 1 met.",
		"- **missed**: resident, after load, Skein ÷ Kafka, synced: asked 4.00, got 2.50",
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("the page lacks the line %q:\n%s", want, text)
		}
	}
	if strings.Index(text, "resident, after load") > strings.Index(text, "start to first") {
		t.Error("the missed row does not come first")
	}
}

func TestJSONReadsBack(t *testing.T) {
	text, err := table().JSON(Document{Machine: "two cores", Rounds: 3})
	if err != nil {
		t.Fatal(err)
	}
	var d Document
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Rows) != 2 || d.Rows[0].ID != StartID || len(d.Rows[0].Samples[Skein]) != 3 || d.Rows[0].Medians[KafkaSync] != 3000 {
		t.Errorf("read back: %+v", d)
	}
	if r := d.Rows[1].Ratios; len(r) != 1 || r[0].Met == nil || *r[0].Met {
		t.Errorf("the missed bar reads back as %+v", r)
	}
}

func TestNumber(t *testing.T) {
	for _, c := range []struct {
		v    float64
		want string
	}{
		{math.NaN(), "–"}, {0.1234, "0.12"}, {9.999, "10.00"}, {12.34, "12.3"}, {999.6, "1,000"}, {1234567, "1,234,567"}, {-1234, "-1,234"},
	} {
		if got := Number(c.v); got != c.want {
			t.Errorf("Number(%v) = %q, want %q", c.v, got, c.want)
		}
	}
}
