package api

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/coordinator"
	"github.com/skeinstream/skein/internal/group"
)

// groupRequests is one good request of each kind about a group, but for FindCoordinator and ListGroups.
func groupRequests(b *testBroker, name string) []kmsg.Request {
	commit := kmsg.NewPtrOffsetCommitRequest()
	commit.Group, commit.Topics = name, []kmsg.OffsetCommitRequestTopic{b.commitOf("a", 0)}
	fetch := kmsg.NewPtrOffsetFetchRequest()
	fetch.Group, fetch.Groups = name, []kmsg.OffsetFetchRequestGroup{{Group: name}}
	join := kmsg.NewPtrJoinGroupRequest()
	join.Group, join.SessionTimeoutMillis, join.ProtocolType = name, 10_000, "consumer"
	join.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: []byte{1}}}
	sync := kmsg.NewPtrSyncGroupRequest()
	sync.Group, sync.ProtocolType, sync.Protocol = name, pointer("consumer"), pointer("range")
	heartbeat := kmsg.NewPtrHeartbeatRequest()
	heartbeat.Group = name
	leave := kmsg.NewPtrLeaveGroupRequest()
	leave.Group, leave.MemberID = name, "m"
	describe := kmsg.NewPtrDescribeGroupsRequest()
	describe.Groups = []string{name}
	remove := kmsg.NewPtrDeleteGroupsRequest()
	remove.Groups = []string{name}
	forget := kmsg.NewPtrOffsetDeleteRequest()
	forget.Group = name
	forget.Topics = []kmsg.OffsetDeleteRequestTopic{{Topic: "a", Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{Partition: 0}}}}
	return []kmsg.Request{commit, fetch, join, sync, heartbeat, leave, describe, remove, forget}
}

// answerTo sends a request in a version and returns the response, whatever its kind.
func (b *testBroker) answerTo(version int16, req kmsg.Request) kmsg.Response {
	b.t.Helper()
	return ask[kmsg.Response](b, version, req)
}

// R-K1, R-D2: what a coordinator that cannot answer becomes, in every request and version.
func TestErrorsOfTheCoordinator(t *testing.T) {
	noTopic := errors.New("no space left on device")
	for _, c := range []struct {
		err                     error
		code, sync, heart, find int16
	}{
		{coordinator.ErrLoading, kerr.CoordinatorLoadInProgress.Code, kerr.RebalanceInProgress.Code, 0, kerr.CoordinatorNotAvailable.Code},
		{coordinator.ErrNotCoordinator, kerr.NotCoordinator.Code, kerr.NotCoordinator.Code, kerr.NotCoordinator.Code, kerr.CoordinatorNotAvailable.Code},
		{noTopic, kerr.CoordinatorNotAvailable.Code, kerr.CoordinatorNotAvailable.Code, kerr.CoordinatorNotAvailable.Code, kerr.CoordinatorNotAvailable.Code},
	} {
		withGroups(t, &fakeGroups{err: c.err}, func(b *testBroker) {
			requests := append(groupRequests(b, "g"), kmsg.NewPtrListGroupsRequest(), kmsg.NewPtrFindCoordinatorRequest())
			for _, req := range requests {
				want := c.code
				switch kmsg.Key(req.Key()) {
				case kmsg.SyncGroup:
					want = c.sync
				case kmsg.Heartbeat:
					want = c.heart
				case kmsg.FindCoordinator:
					want = c.find
					req.(*kmsg.FindCoordinatorRequest).CoordinatorKeys = []string{"g"}
				}
				e := b.table[req.Key()]
				for v := e.min; v <= e.max; v++ {
					if req.Key() == 9 && v == 1 {
						continue // has no place for the error of a group without topics
					}
					if got := errorIn(b.answerTo(v, req)); got != want {
						t.Errorf("%s v%d with %v: %d, want %d", kmsg.NameForKey(req.Key()), v, c.err, got, want)
					}
				}
			}
		})
	}
}

// R-K1: the empty group id is refused by Join, Sync, Heartbeat and Leave, and asked for by the others.
func TestTheEmptyGroupID(t *testing.T) {
	g := &fakeGroups{err: coordinator.ErrNotCoordinator}
	withGroups(t, g, func(b *testBroker) {
		for _, req := range groupRequests(b, "") {
			refused := false
			switch kmsg.Key(req.Key()) {
			case kmsg.JoinGroup, kmsg.SyncGroup, kmsg.Heartbeat, kmsg.LeaveGroup:
				refused = true
			}
			e := b.table[req.Key()]
			for v := e.min; v <= e.max; v++ {
				code := errorIn(b.answerTo(v, req))
				if asked := len(g.inputs()) > 0; asked == refused || (code == kerr.InvalidGroupID.Code) != refused {
					t.Errorf("%s v%d: asked %v, code %d", kmsg.NameForKey(req.Key()), v, asked, code)
				}
			}
		}
	})
}

// R-K1: a Sync v5 without protocol type or name is refused before anything else; before v5 there are none.
func TestSyncWithoutProtocol(t *testing.T) {
	g := &fakeGroups{err: coordinator.ErrNotCoordinator}
	withGroups(t, g, func(b *testBroker) {
		for _, name := range []string{"", "g"} {
			for _, set := range []func(*kmsg.SyncGroupRequest){
				func(r *kmsg.SyncGroupRequest) { r.ProtocolType = nil },
				func(r *kmsg.SyncGroupRequest) { r.Protocol = nil },
			} {
				req := kmsg.NewPtrSyncGroupRequest()
				req.Group, req.ProtocolType, req.Protocol = name, pointer("consumer"), pointer("range")
				set(req)
				if got := errorIn(b.answerTo(5, req)); got != kerr.InconsistentGroupProtocol.Code {
					t.Errorf("v5 of group %q: %d", name, got)
				}
			}
		}
		req := kmsg.NewPtrSyncGroupRequest()
		req.Group = "g"
		if got := errorIn(b.answerTo(4, req)); got != kerr.NotCoordinator.Code || len(g.inputs()) != 1 {
			t.Errorf("v4: %d", got)
		}
	})
}

// T32: the host of the listener in use, one key or several, the empty one too (R-K1).
func TestFindCoordinator(t *testing.T) {
	withGroups(t, &fakeGroups{}, func(b *testBroker) {
		for v := int16(0); v < 4; v++ {
			req := kmsg.NewPtrFindCoordinatorRequest()
			req.CoordinatorKey = "g"
			got := ask[*kmsg.FindCoordinatorResponse](b, v, req)
			if got.ErrorCode != 0 || got.NodeID != 1 || got.Host != testListener.Host || got.Port != testListener.Port || v > 0 && said(got.ErrorMessage) != "NONE" {
				t.Errorf("v%d: %+v", v, got)
			}
		}
		for v := int16(4); v <= 6; v++ {
			req := kmsg.NewPtrFindCoordinatorRequest()
			req.CoordinatorKeys = []string{"g", "", "h"}
			got := ask[*kmsg.FindCoordinatorResponse](b, v, req)
			if len(got.Coordinators) != 3 {
				t.Fatalf("v%d: %+v", v, got)
			}
			for i, c := range got.Coordinators {
				if c.Key != req.CoordinatorKeys[i] || c.ErrorCode != 0 || c.NodeID != 1 || c.Host != testListener.Host || c.Port != testListener.Port {
					t.Errorf("v%d: %+v", v, c)
				}
			}
		}
	})
}

func TestFindOtherCoordinators(t *testing.T) {
	const share = "g:AAAAAAAAAAAAAAAAAAAAAQ:0"
	withGroups(t, &fakeGroups{err: errors.New("not asked")}, func(b *testBroker) {
		for _, c := range []struct {
			version int16
			kind    int8
			key     string
			want    *kerr.Error
		}{
			{1, 1, "t", kerr.UnsupportedVersion},
			{6, 1, "t", kerr.UnsupportedVersion},
			{5, 2, share, kerr.InvalidRequest},
			{6, 2, share, kerr.UnsupportedVersion},
			{6, 2, "", kerr.InvalidRequest},
			{6, 2, "g:1", kerr.InvalidRequest},
			{6, 2, ":AAAAAAAAAAAAAAAAAAAAAQ:0", kerr.InvalidRequest},
			{6, 2, "g::0", kerr.InvalidRequest},
			{6, 3, "g", kerr.InvalidRequest},
			{3, -1, "g", kerr.InvalidRequest},
		} {
			req := kmsg.NewPtrFindCoordinatorRequest()
			req.CoordinatorType, req.CoordinatorKey, req.CoordinatorKeys = c.kind, c.key, []string{c.key}
			got := ask[*kmsg.FindCoordinatorResponse](b, c.version, req)
			node, message := got.NodeID, got.ErrorMessage
			if c.version >= 4 {
				node, message = got.Coordinators[0].NodeID, got.Coordinators[0].ErrorMessage
			}
			if errorIn(got) != c.want.Code || node != -1 || said(message) == "<null>" {
				t.Errorf("v%d, type %d, key %q: %+v", c.version, c.kind, c.key, got)
			}
		}
	})
}

func TestListGroupsFilters(t *testing.T) {
	all := []any{
		[]kmsg.ListGroupsResponseGroup{{Group: "s", ProtocolType: "consumer", GroupState: "Stable", GroupType: "classic"}},
		[]kmsg.ListGroupsResponseGroup(nil),
		[]kmsg.ListGroupsResponseGroup{
			{Group: "e", GroupState: "Empty", GroupType: "classic"},
			{Group: "p", ProtocolType: "connect", GroupState: "PreparingRebalance", GroupType: "classic"},
		},
	}
	g := &fakeGroups{answer: func(_ string, in any) (any, error) {
		if in != any(group.List{}) {
			t.Errorf("asked for %v", in)
		}
		return all, nil
	}}
	withGroups(t, g, func(b *testBroker) {
		for _, c := range []struct {
			version       int16
			states, types []string
			want          string
		}{
			{5, nil, nil, "e p s"},
			{5, []string{"stable", " EMPTY "}, nil, "e s"},
			{5, nil, []string{"CLASSIC"}, "e p s"},
			{5, nil, []string{" classic "}, ""},
			{5, nil, []string{"consumer", "share"}, ""},
			{5, []string{"Stable"}, []string{"consumer"}, ""},
			{4, []string{"preparingRebalance"}, nil, "p"},
			{4, []string{"no such state"}, nil, ""},
			{0, nil, nil, "e p s"},
		} {
			req := kmsg.NewPtrListGroupsRequest()
			req.StatesFilter, req.TypesFilter = c.states, c.types
			got := ask[*kmsg.ListGroupsResponse](b, c.version, req)
			var names []string
			for _, g := range got.Groups {
				names = append(names, g.Group)
				if (g.GroupState != "") != (c.version >= 4) || (g.GroupType != "") != (c.version >= 5) {
					t.Errorf("v%d: %+v", c.version, g)
				}
			}
			if strings.Join(names, " ") != c.want {
				t.Errorf("v%d of %q, %q: %q, want %q", c.version, c.states, c.types, names, c.want)
			}
		}
	})
}

func TestDescribeGroups(t *testing.T) {
	g := &fakeGroups{answer: func(name string, in any) (any, error) {
		d := in.(group.Describe)
		got := kmsg.NewDescribeGroupsResponseGroup()
		got.Group, got.State, got.ProtocolType = d.Group, "Stable", name
		switch name {
		case "unknown":
			got.State, got.ErrorCode = "Dead", kerr.GroupIDNotFound.Code
		case "loading":
			return nil, coordinator.ErrLoading
		}
		return &got, nil
	}}
	withGroups(t, g, func(b *testBroker) {
		req := kmsg.NewPtrDescribeGroupsRequest()
		req.Groups, req.IncludeAuthorizedOperations = []string{"g", "loading", "unknown", "g", "h"}, true
		got := ask[*kmsg.DescribeGroupsResponse](b, 6, req)
		type row struct {
			group, state string
			code         int16
			operations   int32
		}
		var rows []row
		for _, d := range got.Groups {
			rows = append(rows, row{d.Group, d.State, d.ErrorCode, d.AuthorizedOperations})
		}
		const none = -1 << 31
		want := []row{{"g", "Stable", 0, groupOperations}, {"loading", "", 14, none}, {"unknown", "Dead", 69, none}, {"h", "Stable", 0, groupOperations}}
		if !reflect.DeepEqual(rows, want) {
			t.Errorf("%+v\nwant %+v", rows, want)
		}
		for _, in := range g.inputs() {
			if in.in.(group.Describe).Version != 6 {
				t.Errorf("asked %+v", in)
			}
		}
		req.IncludeAuthorizedOperations, req.Groups = false, []string{"g"}
		if got := ask[*kmsg.DescribeGroupsResponse](b, 3, req); got.Groups[0].AuthorizedOperations != none {
			t.Errorf("operations that nobody has asked for: %+v", got)
		}
		req.Groups = nil
		if got := ask[*kmsg.DescribeGroupsResponse](b, 6, req); len(got.Groups) != 0 {
			t.Errorf("%+v", got)
		}
	})
}

func TestDeleteGroups(t *testing.T) {
	g := &fakeGroups{answer: func(name string, in any) (any, error) {
		switch in.(group.Delete).Group {
		case "busy":
			return kerr.NonEmptyGroup.Code, nil
		case "elsewhere":
			return nil, coordinator.ErrNotCoordinator
		default:
			return int16(0), nil
		}
	}}
	withGroups(t, g, func(b *testBroker) {
		for v := int16(0); v <= 3; v++ {
			req := kmsg.NewPtrDeleteGroupsRequest()
			req.Groups = []string{"busy", "g", "elsewhere", "g"}
			got := ask[*kmsg.DeleteGroupsResponse](b, v, req)
			want := map[string]int16{"busy": 68, "g": 0, "elsewhere": 16}
			if len(got.Groups) != len(want) {
				t.Errorf("v%d: %+v", v, got)
			}
			for _, d := range got.Groups {
				if d.ErrorCode != want[d.Group] || d.ErrorMessage != nil {
					t.Errorf("v%d: %+v", v, d)
				}
			}
		}
	})
}
