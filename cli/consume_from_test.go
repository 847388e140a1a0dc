package cli

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/skeinstream/skein/cli/internal/problem"
)

func TestFromTakesPlacesCountsTimesAndAges(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_000)
	for text, want := range map[string]from{
		"beginning": {fromBeginning, 0}, "earliest": {fromBeginning, 0}, "end": {fromEnd, 0}, "0": {fromOffset, 0}, "41": {fromOffset, 41},
		"-10": {fromLast, 10}, "-0": {fromLast, 0}, "@1600000000123": {fromTime, 1_600_000_000_123},
		"-1m": {fromTime, 1_699_999_940_000}, "2020-09-13T12:26:40Z": {fromTime, 1_600_000_000_000}, "2020-09-13": {fromTime, 1_599_955_200_000},
	} {
		if got, err := parseFrom(text, now); err != nil || got != want {
			t.Errorf("%s: got %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "middle", "1m", "1.5", "@x"} {
		if _, err := parseFrom(text, now); problem.ExitCode(err) != problem.ExitUsage {
			t.Errorf("%q: got %v", text, err)
		}
	}
}

func list(offset int64) kadm.ListedOffsets {
	return kadm.ListedOffsets{"t": {0: {Offset: offset}}}
}

func TestSpansStayInsideThePartition(t *testing.T) {
	for _, c := range []struct {
		from    from
		timed   int64
		want    int64
		notices string
	}{
		{from{kind: fromBeginning}, 0, 5, ""},
		{from{kind: fromEnd}, 0, 9, ""},
		{from{fromLast, 2}, 0, 7, ""},
		{from{fromLast, 100}, 0, 5, ""},
		{from{fromOffset, 6}, 0, 6, ""},
		{from{fromOffset, 9}, 0, 9, ""},
		{from{fromOffset, 3}, 0, 5, "begins at offset 5 and ends before 9: reading starts at 5"},
		{from{fromOffset, 12}, 0, 9, "reading starts at 9"},
		{from{fromTime, 1}, 8, 8, ""},
		{from{fromTime, 1}, -1, 9, ""},
	} {
		var notices bytes.Buffer
		got, err := c.from.span(place{"t", 0}, list(5), list(9), list(c.timed), &notices)
		if err != nil || got != (span{c.want, 9}) || !strings.Contains(notices.String(), c.notices) || c.notices == "" && notices.Len() > 0 {
			t.Errorf("%+v: got %+v, %v, %q", c.from, got, err, notices.String())
		}
	}
	if _, err := (from{}).span(place{"t", 1}, list(5), list(9), nil, nil); err == nil {
		t.Error("a partition that nobody knows has a span")
	}
}

// header builds the header of a record batch, as far as holes are about it.
func header(base int64, delta, records int32, extra int) []byte {
	b := make([]byte, batchHeaderSize+extra)
	binary.BigEndian.PutUint64(b, uint64(base))
	binary.BigEndian.PutUint32(b[batchLengthAt:], uint32(len(b)-batchPrefix))
	binary.BigEndian.PutUint32(b[batchLastDeltaAt:], uint32(delta))
	binary.BigEndian.PutUint32(b[batchCountAt:], uint32(records))
	return b
}

func TestHolesArePassedAndRecordsAreNot(t *testing.T) {
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	for _, c := range []struct {
		name     string
		batches  []byte
		position int64
		next     int64
		empty    bool
	}{
		{"an empty batch", header(10, 4, 0, 0), 10, 15, true},
		{"two empty batches", join(header(10, 4, 0, 0), header(20, 0, 0, 0)), 10, 21, true},
		{"records after a hole", join(header(10, 4, 0, 0), header(20, 0, 1, 30)), 10, 0, false},
		{"records here", header(10, 0, 1, 30), 10, 0, false},
		{"the rest of a batch that was read", header(10, 9, 3, 50), 17, 20, true},
		{"cut off", header(10, 4, 0, 0)[:40], 10, 11, true},
		{"nonsense length", append(header(10, 4, 0, 0)[:8], append([]byte{255, 255, 255, 255}, header(10, 4, 0, 0)[12:]...)...), 10, 15, true},
	} {
		next, empty := pastEmpty(c.batches, c.position)
		if empty != c.empty || empty && next != c.next {
			t.Errorf("%s: got %d, %v", c.name, next, empty)
		}
	}
}
