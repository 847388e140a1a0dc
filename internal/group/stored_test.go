package group

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/assign"
	"github.com/skeinstream/skein/internal/machine"
)

// goldenGroup is a group whose record is in testdata: a leader that offers two protocols, and a static member that holds one
// back. interop gives the record to Apache Kafka.
func goldenGroup(t *testing.T, s Settings) *stage {
	s.InitialRebalanceDelay = 0
	st := &script{stage: newStage(t, s)}
	subscription := "0x" + hex.EncodeToString(assign.Subscription{Topics: []string{"orders"}}.Append(nil, 3))
	assignment := string(assign.Assignment{Partitions: []assign.TopicPartitions{{Topic: "orders", Partitions: []int32{0, 1}}}}.Append(nil, 3))
	for i, line := range []string{
		"a joins group=golden range:" + subscription + " cooperative-sticky:" + subscription + "07 session=45s",
		"b join inst=i-1 group=golden range:" + subscription + " held=cooperative-sticky:x session=45s",
		"a join group=golden range:" + subscription + " cooperative-sticky:" + subscription + "07 session=45s",
		"a sync group=golden a=" + assignment,
	} {
		st.run(i+1, strings.Fields(line))
	}
	return st.stage
}

// TestStoredBytes pins what is in the log: version 4 with all protocols, and version 3 as Kafka writes it.
func TestStoredBytes(t *testing.T) {
	tagged, plain := memberSettings(), memberSettings()
	plain.ProtocolsPersisted = false
	for name, s := range map[string]Settings{"testdata/group-v4.txt": tagged, "testdata/group-v3.txt": plain} {
		log := goldenGroup(t, s).log
		last := log[len(log)-1]
		got := fmt.Sprintf("key %x\nvalue %x\n", last.Key, last.Value)
		if *rewrite {
			if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(name); err != nil || string(want) != got {
			t.Errorf("%s: %v: it should be\n%s", name, err, got)
		}
	}
}

// TestLoadOfKafkasVersions: a group in any version of the record that Kafka has written is taken over (R-D15).
func TestLoadOfKafkasVersions(t *testing.T) {
	protocol, leader := "range", "m"
	for version := range int16(5) {
		v := kmsg.NewGroupMetadataValue()
		v.Version, v.ProtocolType, v.Generation, v.Protocol, v.Leader, v.CurrentStateTimestamp = version, "consumer", 7, &protocol, &leader, 5
		member := kmsg.NewGroupMetadataValueMember()
		member.MemberID, member.ClientID, member.SessionTimeoutMillis, member.RebalanceTimeoutMillis = "m", "c", 10_000, 20_000
		member.Subscription, member.Assignment = []byte("s"), []byte("a")
		v.Members = append(v.Members, member)
		st := newStage(t, memberSettings())
		st.log = []machine.Record{{Key: groupKey("g"), Value: v.AppendTo(nil)}}
		st.restart()
		g := st.m.groups["g"]
		who := g.members.byID["m"]
		expect(t, "state", g.state, Stable)
		expect(t, "generation", g.generation, 7)
		expect(t, "subscription", string(who.metadata("range")), "s")
		expect(t, "assignment", string(who.assignment), "a")
		rebalance := 20 * time.Second
		if version == 0 {
			rebalance = 10 * time.Second // it has none: as JoinGroup v0 (FR-B9)
		}
		expect(t, "rebalance timeout", who.rebalance, rebalance)
	}
}

// TestUnreadableRecords: kinds and versions from the future, and torn bytes, are passed over and told about (KIP-915).
func TestUnreadableRecords(t *testing.T) {
	st := goldenGroup(t, memberSettings())
	good := st.log[len(st.log)-1]
	st.log = append(st.log,
		machine.Record{Key: []byte{0, 3, 1, 2}, Value: []byte{1}},
		machine.Record{Key: []byte{0}},
		machine.Record{},
		machine.Record{Key: good.Key, Value: append([]byte{0, 5}, good.Value[2:]...)},
		machine.Record{Key: good.Key[:4], Value: good.Value},
		machine.Record{Key: groupKey("torn"), Value: good.Value[:40]},
	)
	st.notes = nil
	st.m = New(st.settings)
	for _, r := range st.log {
		st.m.Apply(r)
	}
	out := st.m.Loaded(st.now)
	expect(t, "notes", len(out.Notes), 5)
	g := st.m.group("golden")
	expect(t, "state", g.state, Stable)
	expect(t, "members", g.members.len(), 2)
	expect(t, "torn", st.m.group("torn").state, Empty)
}

// FuzzApply: no record makes the machine fall over, in a load or later.
func FuzzApply(f *testing.F) {
	st := newStage(f, memberSettings())
	f.Add(groupKey("g"), []byte{0, 4, 0})
	for _, name := range []string{"testdata/group-v3.txt", "testdata/group-v4.txt"} {
		var key, value []byte
		text, err := os.ReadFile(name)
		if _, scanErr := fmt.Sscanf(string(text), "key %x\nvalue %x", &key, &value); err != nil || scanErr != nil {
			f.Fatal(err, scanErr)
		}
		f.Add(key, value)
	}
	f.Fuzz(func(t *testing.T, key, value []byte) {
		m := New(st.settings)
		m.Apply(machine.Record{Key: key, Value: value})
		m.Loaded(st.now)
		for _, g := range m.sorted() {
			m.Step(st.now, 1, Describe{Group: g.name, Version: 6})
			if g.state == Stable {
				again := g.record()
				n := New(st.settings)
				n.Apply(again)
				n.Loaded(st.now)
				if back := n.group(g.name); back == nil || !bytes.Equal(back.record().Value, again.Value) {
					t.Fatalf("the record of %q does not come back", g.name)
				}
			}
		}
		m.Tick(st.now.Add(time.Hour))
	})
}
