package partition

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// served is a partition that is served though the first of its segments is damaged from its second batch on.
func served(w *world) *Partition {
	w.t.Helper()
	w.start()
	p := w.create("t", 1, "segment.ms", "50").Partition(0)
	for range 3 {
		w.appended(p, batch(2), 0)
	}
	first := p.log.Size() / 3
	for range 3 {
		w.settle(60 * time.Millisecond)
		w.appended(p, batch(2), 0)
	}
	w.stop()
	flip(w.t, w.fs, filepath.Join(dataDir, "t-0", "00000000000000000000.log"), first+8)
	w.start()
	return w.partition("t")
}

func (l *logs) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), text)
}

func readAt(p *Partition, offset int64) int16 {
	r := p.Read(ReadOptions{Offset: offset, MaxBytes: 1 << 20, MinOne: true, LeaderEpoch: -1, LastFetchedEpoch: -1})
	r.Records.Release()
	return r.Code
}

// Damage in a segment that no start reads is told once, with its place, and again after an hour, however often a consumer
// comes; the partition is known to be damaged until retention has taken it.
func TestDamageThatReadersMeet(t *testing.T) {
	inBubble(t, func(w *world) {
		p := served(w)
		if p.Refusal() != 0 || p.Damaged() {
			t.Fatalf("refusal %d, damaged %v before anybody has read", p.Refusal(), p.Damaged())
		}
		for range 5 {
			if code := readAt(p, 0); code != 0 {
				t.Errorf("before the damage: code %d", code)
			}
			if code := readAt(p, 2); code != kerr.CorruptMessage.Code {
				t.Errorf("at the damage: code %d, want %d", code, kerr.CorruptMessage.Code)
			}
			if code := readAt(p, 6); code != 0 {
				t.Errorf("behind the damage: code %d", code)
			}
		}
		if n := w.logs.count("level=ERROR"); n != 1 || !w.logs.has("skein log repair") || !w.logs.has("00000000000000000000.log") || !w.logs.has("position=") || !w.logs.has("offset=2") {
			t.Errorf("%d errors, want one with the place:\n%s", n, w.logs.text.String())
		}
		if !p.Damaged() {
			t.Error("the partition is not known to be damaged")
		}
		w.settle(troubleAgain + time.Minute)
		readAt(p, 2)
		readAt(p, 2)
		if n := w.logs.count("level=ERROR"); n != 2 {
			t.Errorf("%d errors after an hour, want 2", n)
		}
		if _, code := p.DeleteRecords(6); code != 0 || p.Damaged() {
			t.Errorf("code %d, damaged %v when the damaged records are deleted", code, p.Damaged())
		}
		w.stop()
	})
}

func TestTroublesAreBounded(t *testing.T) {
	var x troubles
	told := 0
	for i := range 1000 {
		if x.news(strings.Repeat("x", i), -1, 1) {
			told++
		}
	}
	if told != troublesMax {
		t.Errorf("%d are told of, want %d", told, troublesMax)
	}
	if !x.news("later", -1, 1+troubleAgain.Milliseconds()) {
		t.Error("old ones are not forgotten")
	}
}
