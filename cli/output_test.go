package cli

import (
	"bytes"
	"testing"
	"time"
)

func TestSizesAreForPeople(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB", 5 << 20: "5.0 MiB", 3 << 40: "3.0 TiB", 1 << 62: "4096.0 PiB"} {
		if got := bytesText(n); got != want {
			t.Errorf("%d: got %s, want %s", n, got, want)
		}
	}
}

func TestNumbersAgreeWithTheirNouns(t *testing.T) {
	if count(1, "record") != "1 record" || count(int64(0), "record") != "0 records" {
		t.Error("wrong")
	}
}

func TestTablesLeaveNoBlanksBehind(t *testing.T) {
	var b bytes.Buffer
	table := newTable(&b, "A", "B")
	table.row("xxx", 1, "")
	table.row("y", 2, "note")
	table.flush()
	if got, want := b.String(), "A    B\nxxx  1\ny    2  note\n"; got != want {
		t.Errorf("got %q", got)
	}
}

func TestTextIsWrappedAtBlanks(t *testing.T) {
	if got, want := wrap("aa bb cc dddddddd e", 5, 2), "aa bb\n  cc\n  dddddddd\n  e"; got != want {
		t.Errorf("got %q", got)
	}
}

func TestDurationsHaveThreeDigits(t *testing.T) {
	now := time.Unix(0, 0)
	for d, want := range map[time.Duration]string{
		1234567: "1.23ms", 12345678: "12.3ms", 1_234_567_890: "1.23s", 61_234_567_890: "1m1.2s", time.Hour: "1h0m0s",
	} {
		p := progress{now: func() time.Time { return now.Add(d) }, started: now}
		if got := p.took().String(); got != want {
			t.Errorf("%d: got %s, want %s", d, got, want)
		}
	}
}

func TestProgressTellsRecordsBytesAndRate(t *testing.T) {
	now := time.Unix(0, 0)
	p := progress{now: func() time.Time { return now.Add(2 * time.Second) }, started: now, verb: "acknowledged"}
	p.add(100, 2048)
	if got, want := p.line(), "100 records acknowledged, 2.0 KiB, 50 records/s"; got != want {
		t.Errorf("got %q", got)
	}
}

func TestProgressTellsTheStage(t *testing.T) {
	now := time.Unix(0, 0)
	p := progress{now: func() time.Time { return now.Add(1230 * time.Millisecond) }, started: now}
	p.begin("planning")
	if got, want := p.line(), "planning, 1.23s so far"; got != want {
		t.Errorf("got %q", got)
	}
}

func TestTablesStayTablesWhateverIsInThem(t *testing.T) {
	var b bytes.Buffer
	table := newTable(&b, "NAME", "NOTE")
	table.row("grüße\n", "\x1b[2Jgone\t\"quoted\"")
	table.row("x", "plain \"quoted\"")
	table.flush()
	if got, want := b.String(), "NAME     NOTE\ngrüße\\n  \\x1b[2Jgone\\t\\\"quoted\\\"\nx        plain \"quoted\"\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
