package group

import (
	"bytes"
	"encoding/hex"
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/machine"
)

// Values as Kafka's releases wrote them: field by field, from the schema of each version (R-D15).
func oldValues() map[string]struct {
	bytes string
	want  committed
} {
	detailed := func(expires int64) *commitDetail { return &commitDetail{metadata: "md", expires: expires} }
	return map[string]struct {
		bytes string
		want  committed
	}{
		"v0": {"0000" + "000000000000002a" + "00026d64" + "0000018bcfe56800",
			committed{offset: 42, leaderEpoch: -1, at: 1700000000000, more: detailed(noExpiry)}},
		"v1": {"0001" + "000000000000002a" + "00026d64" + "0000018bcfe56800" + "0000018bcfe56be8",
			committed{offset: 42, leaderEpoch: -1, at: 1700000000000, more: detailed(1700000001000)}},
		"v1 without expiry": {"0001" + "000000000000002a" + "00026d64" + "0000018bcfe56800" + "ffffffffffffffff",
			committed{offset: 42, leaderEpoch: -1, at: 1700000000000, more: detailed(noExpiry)}},
		"v2": {"0002" + "000000000000002a" + "00026d64" + "0000018bcfe56800",
			committed{offset: 42, leaderEpoch: -1, at: 1700000000000, more: detailed(noExpiry)}},
		"v3": {"0003" + "000000000000002a" + "00000007" + "00026d64" + "0000018bcfe56800",
			committed{offset: 42, leaderEpoch: 7, at: 1700000000000, more: detailed(noExpiry)}},
		"v4": {"0004" + "000000000000002a" + "00000007" + "036d64" + "0000018bcfe56800" + "00",
			committed{offset: 42, leaderEpoch: 7, at: 1700000000000, more: detailed(noExpiry)}},
		"v4 with an unknown tag": {"0004" + "000000000000002a" + "00000007" + "036d64" + "0000018bcfe56800" + "01" + "904e" + "02" + "abcd",
			committed{offset: 42, leaderEpoch: 7, at: 1700000000000, more: detailed(noExpiry)}},
	}
}

// R-D15: every version of the value that Kafka has ever written is read, under both versions of the key.
func TestOldOffsetRecordsAreRead(t *testing.T) {
	for name, c := range oldValues() {
		for _, version := range []byte{0, 1} {
			m := New(offsetSettings())
			k := kmsg.OffsetCommitKey{Version: int16(version), Group: "g", Topic: "t", Partition: 3}
			if err := m.applyOffset(machine.Record{Key: k.AppendTo(nil), Value: unhex(t, c.bytes)}); err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			got := m.group("g").offsets.topic("t").get(3)
			expect(t, name, dumpCommit(*got), dumpCommit(c.want))
		}
	}
}

// KIP-915: what a newer broker wrote in a way that is not known here is left out; it is an error to be logged, not the end.
func TestStrangeOffsetRecordsAreLeftOut(t *testing.T) {
	key := appendOffsetKey(nil, "g", "t", 3)
	m := New(offsetSettings())
	for name, r := range map[string]machine.Record{
		"version 5":         {Key: key, Value: unhex(t, "0005"+"000000000000002a"+"00000007"+"036d64"+"0000018bcfe56800"+"00")},
		"version -1":        {Key: key, Value: unhex(t, "ffff"+"000000000000002a"+"00026d64"+"0000018bcfe56800")},
		"empty value":       {Key: key, Value: []byte{}},
		"torn value":        {Key: key, Value: unhex(t, "0003"+"000000000000002a")},
		"null metadata":     {Key: key, Value: unhex(t, "0004"+"000000000000002a"+"00000007"+"00"+"0000018bcfe56800"+"00")},
		"huge tag":          {Key: key, Value: unhex(t, "0004"+"000000000000002a"+"00000007"+"01"+"0000018bcfe56800"+"01"+"00"+"ffffffff0f"+"00")},
		"short topic id":    {Key: key, Value: unhex(t, "0004"+"000000000000002a"+"00000007"+"01"+"0000018bcfe56800"+"01"+"00"+"02"+"0000")},
		"torn key":          {Key: key[:len(key)-1], Value: unhex(t, oldValues()["v3"].bytes)},
		"negative name":     {Key: unhex(t, "0001"+"fffe"+"0001"+"74"+"00000000"), Value: unhex(t, oldValues()["v3"].bytes)},
		"tombstone, no key": {Key: unhex(t, "0001")},
	} {
		if err := m.applyOffset(r); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	if err := m.applyOffset(machine.Record{Key: key, Value: unhex(t, "0005000000000000002a")}); err == nil {
		t.Error("torn value of version 5: taken")
	}
	if _, err := readOffsetValue(unhex(t, "0006"+"000000000000002a"+"00000007"+"036d64"+"0000018bcfe56800"+"00")); !errors.Is(err, errOffsetVersion) {
		t.Errorf("version 6: %v", err)
	}
	expect(t, "state", dumpOffsets(m), "")
	expect(t, "groups", len(m.groups), 0)
}

// R-D15: the bytes of our own records, key version 1 and value version 4.
func TestOffsetRecordBytes(t *testing.T) {
	v := kmsg.NewOffsetCommitValue()
	v.Version, v.Offset, v.LeaderEpoch, v.Metadata, v.CommitTimestamp = offsetValueVersion, 42, 7, "md", 1700000000000
	v.ExpireTimestamp = noExpiry
	plain := offsetRecord("group", "topic", 3, &v)
	expect(t, "key", hex.EncodeToString(plain.Key), "0001"+"000567726f7570"+"0005746f706963"+"00000003")
	expect(t, "value", hex.EncodeToString(plain.Value), oldValues()["v4"].bytes)

	v.TopicID = [16]byte{1, 15: 2}
	identified := offsetRecord("group", "topic", 3, &v)
	expect(t, "value with id", hex.EncodeToString(identified.Value),
		"0004"+"000000000000002a"+"00000007"+"036d64"+"0000018bcfe56800"+"01"+"00"+"10"+"01000000000000000000000000000002")

	v.Version, v.ExpireTimestamp = expiringValueVersion, 1700000001000
	expiring := offsetRecord("group", "topic", 3, &v)
	expect(t, "expiring value", hex.EncodeToString(expiring.Value), oldValues()["v1"].bytes)

	gone := offsetTombstone("group", "topic", 3)
	if !bytes.Equal(gone.Key, plain.Key) || gone.Value != nil {
		t.Errorf("tombstone: %x %x", gone.Key, gone.Value)
	}
}

// A record is made in one piece of memory, whatever its parts are.
func TestOffsetRecordSizeIsEnough(t *testing.T) {
	for _, version := range []int16{expiringValueVersion, offsetValueVersion} {
		v := kmsg.NewOffsetCommitValue()
		v.Version, v.Metadata, v.TopicID = version, string(bytes.Repeat([]byte{'x'}, 30_000)), [16]byte{1}
		r := offsetRecord("g", "t", 0, &v)
		if limit := offsetKeySize("g", "t") + offsetValueSize(&v); len(r.Key)+len(r.Value) > limit {
			t.Errorf("version %d: %d bytes, %d expected at most", version, len(r.Key)+len(r.Value), limit)
		}
	}
}

// FuzzOffsetRecords: whatever is in the log, a replay gets through it; what is taken reads the same when it is written again.
func FuzzOffsetRecords(f *testing.F) {
	for _, c := range oldValues() {
		b, err := hex.DecodeString(c.bytes)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(appendOffsetKey(nil, "g", "t", 3), b)
	}
	f.Add([]byte{0, 9, 1, 2}, []byte{0, 1})
	f.Fuzz(func(t *testing.T, key, value []byte) {
		m := New(offsetSettings())
		m.Apply(machine.Record{Key: key, Value: value})
		m.Apply(machine.Record{Key: key, Value: value})
		before := dumpOffsets(m)
		again := New(offsetSettings())
		for _, r := range rewritten(m) {
			again.Apply(r)
		}
		if after := dumpOffsets(again); before != after {
			t.Fatalf("read:\n%s\nwritten and read again:\n%s", before, after)
		}
		m.Apply(machine.Record{Key: key})
		if m.offsets.stored != 0 {
			t.Fatalf("a tombstone of %x left %s", key, dumpOffsets(m))
		}
	})
}

// rewritten are the records that would commit what m knows. Those with an expiry lose their epoch and id: version 1 has none.
func rewritten(m *Machine) []machine.Record {
	var out []machine.Record
	for name, g := range m.groups {
		for _, t := range g.offsets.topics {
			for _, c := range t.list {
				v := kmsg.OffsetCommitValue{Version: offsetValueVersion, Offset: c.offset, LeaderEpoch: c.leaderEpoch, CommitTimestamp: c.at}
				if c.id != nil {
					v.TopicID = *c.id
				}
				if c.more != nil {
					v.Metadata = c.more.metadata
				}
				if v.ExpireTimestamp = c.expires(); v.ExpireTimestamp != noExpiry {
					v.Version = expiringValueVersion
				}
				out = append(out, offsetRecord(name, t.topic.name, c.partition, &v))
			}
		}
	}
	return out
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
