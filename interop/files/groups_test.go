package files

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/interop/internal/report"
	"github.com/skeinstream/skein/interop/internal/root"
	"github.com/skeinstream/skein/interop/internal/target"
	"github.com/skeinstream/skein/interop/kafka"
)

// storedGroup is a record of group metadata that the group coordinator's own tests pin, in version 4 with our tagged fields.
const storedGroup = "internal/group/testdata/group-v4.txt"

const offsetsTopic = "__consumer_offsets"

// TestKafkaLoadsOurGroups: a Kafka that finds our record of a group, with all protocols of all members in tagged fields that it
// does not know, loads the group as it is, and its dump tool reads it (KIP-915, R-C3).
func TestKafkaLoadsOurGroups(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	key, value := storedRecord(t)
	settings := map[string]string{"offsets.topic.num.partitions": "1"}
	dir := t.TempDir()
	first := target.Kafka(t, kafka.Options{Settings: settings, DataDir: dir})
	makeOffsetsTopic(ctx, t, first.Addr)
	writeOffsetsTopic(ctx, t, first.Addr, &kgo.Record{Topic: offsetsTopic, Key: key, Value: value})
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	second := target.Kafka(t, kafka.Options{Settings: settings, DataDir: dir})
	client, err := kgo.NewClient(kgo.SeedBrokers(second.Addr))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	g := describeLoaded(ctx, t, client)
	if g.State != "Stable" || g.Protocol != "range" || len(g.Members) != 2 {
		t.Fatalf("Kafka has loaded %+v", g)
	}
	for i, m := range g.Members {
		beat := kmsg.NewPtrHeartbeatRequest()
		beat.Group, beat.Generation, beat.MemberID, beat.InstanceID = g.Group, 2, m.MemberID, m.InstanceID
		response, err := beat.RequestWith(ctx, client)
		if err != nil || response.ErrorCode != 0 || len(m.ProtocolMetadata) == 0 {
			t.Errorf("member %d, %s: heartbeat %+v %v", i, m.MemberID, response, err)
		}
	}
	dump := dumpGroups(ctx, t, second.Tools, dir)
	if !strings.Contains(dump, `"group":"golden"`) || !strings.Contains(dump, g.Members[0].MemberID) {
		t.Errorf("the dump tool reads\n%s", dump)
	}
	report.Note(t, report.Shown, "group records", "Kafka %s loads a group from our record of version 4 and its members' heartbeats go on; its dump tool reads it", kafka.V4)
}

// storedRecord reads the fixture.
func storedRecord(t *testing.T) (key, value []byte) {
	t.Helper()
	source, err := root.Skein()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(source, filepath.FromSlash(storedGroup)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscanf(string(text), "key %x\nvalue %x", &key, &value); err != nil {
		t.Fatalf("%s: %v", storedGroup, err)
	}
	return key, value
}

// makeOffsetsTopic makes Kafka create the topic, which it does when a coordinator is asked for.
func makeOffsetsTopic(ctx context.Context, t *testing.T, addr string) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(addr))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for {
		r := kmsg.NewPtrFindCoordinatorRequest()
		r.CoordinatorKey, r.CoordinatorKeys = "golden", []string{"golden"}
		response, err := r.RequestWith(ctx, client)
		if err == nil && len(response.Coordinators) == 1 && response.Coordinators[0].ErrorCode == 0 {
			return
		}
		if pause(ctx); ctx.Err() != nil {
			t.Fatalf("no coordinator: %+v %v", response, err)
		}
	}
}

// writeOffsetsTopic writes as Kafka's own admin client may.
func writeOffsetsTopic(ctx context.Context, t *testing.T, addr string, r *kgo.Record) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ClientID("__admin_client"), kgo.DisableIdempotentWrite())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.ProduceSync(ctx, r).FirstErr(); err != nil {
		t.Fatalf("writing to %s: %v", offsetsTopic, err)
	}
}

// describeLoaded describes the group once Kafka has loaded it.
func describeLoaded(ctx context.Context, t *testing.T, client *kgo.Client) kmsg.DescribeGroupsResponseGroup {
	t.Helper()
	for {
		r := kmsg.NewPtrDescribeGroupsRequest()
		r.Groups = []string{"golden"}
		response, err := r.RequestWith(ctx, client)
		if err == nil && len(response.Groups) == 1 && response.Groups[0].ErrorCode == 0 {
			return response.Groups[0]
		}
		if pause(ctx); ctx.Err() != nil {
			t.Fatalf("describing: %+v %v", response, err)
		}
		if err == nil && response.Groups[0].ErrorCode == kerr.GroupIDNotFound.Code {
			t.Fatalf("Kafka does not know the group: %+v", response.Groups[0])
		}
	}
}

func pause(ctx context.Context) {
	select {
	case <-time.After(200 * time.Millisecond):
	case <-ctx.Done():
	}
}

func dumpGroups(ctx context.Context, t *testing.T, tools kafka.Tools, dataDir string) string {
	t.Helper()
	segments, err := filepath.Glob(filepath.Join(dataDir, offsetsTopic+"-0", "*.log"))
	if err != nil || len(segments) == 0 {
		t.Fatalf("no segments: %v", err)
	}
	out, err := tools.Run(ctx, kafka.DumpLogSegments, "--offsets-decoder", "--deep-iteration", "--files", strings.Join(segments, ","))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestKafkasGroupRecords: what Kafka writes for a group has the bytes that we write in version 3, and is what we say that it is.
func TestKafkasGroupRecords(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	b := target.Kafka(t, kafka.Options{Settings: map[string]string{"offsets.topic.num.partitions": "1"}})
	makeOffsetsTopic(ctx, t, b.Addr)
	oneRound(ctx, t, b.Addr)
	records := groupRecords(ctx, t, b.Addr)
	if len(records) != 3 {
		t.Fatalf("%d records of a group that was made, had a round, and was left", len(records))
	}
	for i, r := range records {
		v := kmsg.NewGroupMetadataValue()
		if err := v.ReadFrom(r.Value); err != nil || !bytes.Equal(v.AppendTo(nil), r.Value) || v.Version != 3 {
			t.Errorf("record %d, version %d: %v", i, v.Version, err)
		}
		members := len(v.Members)
		got := fmt.Sprintf("%q generation %d members %d", v.ProtocolType, v.Generation, members)
		if want := []string{`"" generation 0 members 0`, `"consumer" generation 1 members 1`, `"consumer" generation 2 members 0`}[i]; got != want {
			t.Errorf("record %d: %s, want %s", i, got, want)
		}
		if members == 1 != (v.Protocol != nil) || members == 1 != (v.Leader != nil) || v.CurrentStateTimestamp <= 0 {
			t.Errorf("record %d: %+v", i, v)
		}
	}
}

// oneRound has a member join, assign to itself and leave.
func oneRound(ctx context.Context, t *testing.T, addr string) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(addr))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	join := kmsg.NewPtrJoinGroupRequest()
	join.Group, join.ProtocolType, join.SessionTimeoutMillis, join.RebalanceTimeoutMillis = "golden", "consumer", 45_000, 60_000
	join.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: []byte("metadata")}}
	joined, err := join.RequestWith(ctx, client)
	if err == nil && joined.ErrorCode == kerr.MemberIDRequired.Code {
		join.MemberID = joined.MemberID
		joined, err = join.RequestWith(ctx, client)
	}
	if err != nil || joined.ErrorCode != 0 {
		t.Fatalf("joining: %+v %v", joined, err)
	}
	sync := kmsg.NewPtrSyncGroupRequest()
	sync.Group, sync.MemberID, sync.Generation, sync.ProtocolType, sync.Protocol = "golden", joined.MemberID, joined.Generation, joined.ProtocolType, joined.Protocol
	sync.GroupAssignment = []kmsg.SyncGroupRequestGroupAssignment{{MemberID: joined.MemberID, MemberAssignment: []byte("assignment")}}
	synced, err := sync.RequestWith(ctx, client)
	if err != nil || synced.ErrorCode != 0 {
		t.Fatalf("syncing: %+v %v", synced, err)
	}
	leave := kmsg.NewPtrLeaveGroupRequest()
	leave.Group, leave.Members = "golden", []kmsg.LeaveGroupRequestMember{{MemberID: joined.MemberID}}
	if left, err := leave.RequestWith(ctx, client); err != nil || left.ErrorCode != 0 {
		t.Fatalf("leaving: %+v %v", left, err)
	}
}

// groupRecords are the group's records in the topic.
func groupRecords(ctx context.Context, t *testing.T, addr string) (found []*kgo.Record) {
	t.Helper()
	start := map[string]map[int32]kgo.Offset{offsetsTopic: {0: kgo.NewOffset().AtStart()}}
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ConsumePartitions(start), kgo.KeepControlRecords())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ends, err := kadm.NewClient(client).ListEndOffsets(ctx, offsetsTopic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		t.Fatal(err)
	}
	end, _ := ends.Lookup(offsetsTopic, 0)
	for next := int64(0); next < end.Offset; {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("reading %s at %d of %d: %v", offsetsTopic, next, end.Offset, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			next = r.Offset + 1
			if r.Key[1] == 2 && len(r.Value) > 0 {
				found = append(found, r)
			}
		})
	}
	return found
}
