package group

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/assign"
	"github.com/skeinstream/skein/internal/machine"
	"github.com/skeinstream/skein/internal/scripts"
)

// FR-C13: commit n, fetch n, a thousand times, with restarts in between.
func TestOffsetsReadAsTheyWereWritten(t *testing.T) {
	w := newWorld(t, offsetSettings())
	for n := range int64(1000) {
		expect(t, "commit", w.commit(commitOf("g", "t", 3, n)), 0)
		if n%100 == 50 {
			w.restart()
		}
		if got := w.fetch("g", "t", 3); got.Offset != n || got.ErrorCode != 0 {
			t.Fatalf("committed %d, fetched %+v", n, got)
		}
	}
}

// R-D15, R-K10: given the same requests we write the bytes that Apache Kafka 4.4.0 wrote. The times of commits are Kafka's.
func TestRecordsAreKafkas(t *testing.T) {
	f, err := os.Open("testdata/kafka-4.4-offsets.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := newOffsetScript(t)
	var command string
	var want machine.Record
	compared := 0
	check := func() {
		if command != "" {
			compareRecord(s, command, want)
			compared++
		}
	}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		switch kind, rest, _ := strings.Cut(lines.Text(), " "); kind {
		case "commit", "drop":
			check()
			command, want = lines.Text(), machine.Record{}
		case "key":
			want.Key = unhex(t, rest)
		case "value":
			want.Value = unhex(t, rest)
		}
	}
	check()
	if compared < 10 {
		t.Errorf("only %d records compared", compared)
	}
}

// compareRecord runs a command at the time and for the topic id that Kafka's record has.
func compareRecord(s *offsetScript, command string, want machine.Record) {
	s.t.Helper()
	o := scripts.Parse(s, strings.Fields(command)[1:])
	var in any
	if want.Value == nil {
		in = DeleteOffsets{Request: s.requests.Drop(o)}
	} else {
		v, err := readOffsetValue(want.Value)
		if err != nil {
			s.t.Fatalf("%s: %v", command, err)
		}
		s.w.now = time.UnixMilli(v.CommitTimestamp)
		r := s.requests.Commit(o)
		r.Topics[0].TopicID = v.TopicID
		in = Commit{Request: r}
	}
	s.w.last = nil
	s.w.ask(in)
	if len(s.w.last) != 1 {
		s.t.Fatalf("%s: %d records", command, len(s.w.last))
	}
	got := s.w.last[0]
	if !slices.Equal(got.Key, want.Key) || !slices.Equal(got.Value, want.Value) || (got.Value == nil) != (want.Value == nil) {
		s.t.Errorf("%s:\nwe write     %x %x\nKafka writes %x %x", command, got.Key, got.Value, want.Key, want.Value)
	}
}

// A group whose name fits in no key is refused before anything is written.
func TestGroupNameThatFitsInNoRecord(t *testing.T) {
	w := newWorld(t, offsetSettings())
	expect(t, "code", w.commit(commitOf(strings.Repeat("g", 1<<15), "t", 0, 1)), kerr.InvalidGroupID.Code)
	expect(t, "code", w.commit(commitOf(strings.Repeat("g", 1<<15-1), "t", 0, 1)), 0)
	expect(t, "records", len(w.log), 1)
}

// R-D19: a retention so long that it passes the end of time does not end at once.
func TestExpiry(t *testing.T) {
	const now = 1_700_000_000_000
	for _, c := range []struct {
		version int16
		keep    int64
		record  int16
		at      int64
	}{
		{2, -1, 4, noExpiry}, {2, 0, 1, now}, {4, 5, 1, now + 5}, {4, -2, 1, now - 2}, {4, 1<<63 - 1, 1, 1<<63 - 1},
		{5, 5, 4, noExpiry}, {1, 5, 4, noExpiry},
	} {
		record, at := expiry(&kmsg.OffsetCommitRequest{Version: c.version, RetentionTimeMillis: c.keep}, now)
		if record != c.record || at != c.at {
			t.Errorf("version %d, %d ms: record version %d, ends at %d", c.version, c.keep, record, at)
		}
	}
}

// R-K12: UTF-16 units are counted, not bytes and not characters.
func TestTooLong(t *testing.T) {
	for s, units := range map[string]int{"": 0, "abc": 3, "äöü": 3, "€": 1, "🙂": 2, "a🙂€": 4, "\xff\xfe": 2} {
		if tooLong(s, units) || units > 0 && !tooLong(s, units-1) {
			t.Errorf("%q is not taken as %d units long", s, units)
		}
	}
}

// R-D9, R-K13: what a generation is subscribed to.
func TestReadSubscription(t *testing.T) {
	of := func(version int16, topics ...string) []byte {
		return assign.Subscription{Topics: topics, UserData: []byte("u"), Generation: 4, Rack: "r"}.Append(nil, version)
	}
	for name, c := range map[string]struct {
		members [][]byte
		want    string
	}{
		"nobody":           {nil, "[]"},
		"versions":         {[][]byte{of(0, "a"), of(1, "b", "a"), of(2, "c"), of(3, "d")}, "[a b c d]"},
		"equal members":    {[][]byte{of(1, "a", "b"), of(1, "a", "b"), of(1, "b"), of(1, "a", "b")}, "[a b]"},
		"from the future":  {[][]byte{append(append([]byte{0, 99}, of(0, "a")[2:]...), 1, 2, 3)}, "[a]"},
		"negative version": {[][]byte{append([]byte{0xff, 0xff}, of(0, "a")[2:]...)}, "[a]"},
		"strange tail":     {[][]byte{append(append([]byte{0, 1}, of(0, "a")[2:]...), 0xff)}, "[a]"},
		"no topics":        {[][]byte{of(3)}, "[]"},
		"torn":             {[][]byte{of(3, "a"), of(0, "a")[:5]}, "unknown"},
		"empty":            {[][]byte{{}}, "unknown"},
		"nil":              {[][]byte{nil}, "unknown"},
	} {
		s := readSubscription(slices.Values(c.members))
		got := "unknown"
		if s.known {
			got = fmt.Sprint(slices.Sorted(maps.Keys(s.topics)))
		}
		expect(t, name, got, c.want)
	}
}

// Ids and metadata of equal commits are kept once, and never shared with what can still change.
func TestOffsetsShareWhatIsEqual(t *testing.T) {
	w := newWorld(t, offsetSettings())
	for p := range int32(100) {
		r := commitOf("g", "t", p*3, 1)
		r.Topics[0].TopicID = [16]byte{7}
		w.commit(r)
	}
	stored := w.m.group("g").offsets.topic("t")
	for i := range stored.list {
		if stored.list[i].id != stored.list[0].id {
			t.Fatalf("partition %d has an id of its own", stored.list[i].partition)
		}
	}
	before := w.fetch("g", "t", 3)
	r := commitOf("g", "t", 3, 2)
	r.Topics[0].Partitions[0].Metadata = kmsg.StringPtr("new")
	w.commit(r)
	expect(t, "an answer of before", *before.Metadata, "")
	expect(t, "the answer now", *w.fetch("g", "t", 3).Metadata, "new")
}

// Apply keeps nothing of the record's bytes: the log's buffer is used again.
func TestApplyCopiesWhatItKeeps(t *testing.T) {
	m := New(offsetSettings())
	v := kmsg.OffsetCommitValue{Version: offsetValueVersion, Offset: 5, Metadata: "metadata"}
	r := offsetRecord("group", "topic", 3, &v)
	m.Apply(r)
	before := dumpOffsets(m)
	clear(r.Key)
	clear(r.Value)
	expect(t, "state", dumpOffsets(m), before)
	if !strings.Contains(before, `group topic/3 5 `) || !strings.Contains(before, `"metadata"`) {
		t.Error(before)
	}
	expect(t, "group found", m.group("group") != nil, true)
	expect(t, "topic found", hex.EncodeToString([]byte(m.offsets.names()[0])), hex.EncodeToString([]byte("topic")))
}
