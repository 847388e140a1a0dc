//go:build synctests

package consumer

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// forbids are answers of a broker that lets a consumer do everything but one thing.
var forbids = map[string]func(kmsg.Response){
	"Metadata": func(r kmsg.Response) {
		if r, ok := r.(*kmsg.MetadataResponse); ok {
			for i := range r.Topics {
				r.Topics[i].ErrorCode, r.Topics[i].Partitions = kerr.TopicAuthorizationFailed.Code, nil
			}
		}
	},
	"FindCoordinator": func(r kmsg.Response) {
		if r, ok := r.(*kmsg.FindCoordinatorResponse); ok {
			r.ErrorCode = kerr.GroupAuthorizationFailed.Code
			for i := range r.Coordinators {
				r.Coordinators[i].ErrorCode = kerr.GroupAuthorizationFailed.Code
			}
		}
	},
	"JoinGroup": func(r kmsg.Response) {
		if r, ok := r.(*kmsg.JoinGroupResponse); ok {
			r.ErrorCode = kerr.GroupAuthorizationFailed.Code
		}
	},
	"SyncGroup": func(r kmsg.Response) {
		if r, ok := r.(*kmsg.SyncGroupResponse); ok {
			r.ErrorCode = kerr.GroupAuthorizationFailed.Code
		}
	},
	"Heartbeat": func(r kmsg.Response) {
		if r, ok := r.(*kmsg.HeartbeatResponse); ok {
			r.ErrorCode = kerr.GroupAuthorizationFailed.Code
		}
	},
	"OffsetFetch": func(r kmsg.Response) {
		if r, ok := r.(*kmsg.OffsetFetchResponse); ok {
			r.ErrorCode = kerr.GroupAuthorizationFailed.Code
			for i := range r.Groups {
				r.Groups[i].ErrorCode = kerr.GroupAuthorizationFailed.Code
			}
		}
	},
	"ListOffsets": func(r kmsg.Response) {
		if r, ok := r.(*kmsg.ListOffsetsResponse); ok {
			for i := range r.Topics {
				r.Topics[i].Partitions[0].ErrorCode = kerr.TopicAuthorizationFailed.Code
			}
		}
	},
	"Fetch": func(r kmsg.Response) {
		if r, ok := r.(*kmsg.FetchResponse); ok {
			for i := range r.Topics {
				r.Topics[i].Partitions[0].ErrorCode, r.Topics[i].Partitions[0].RecordBatches = kerr.TopicAuthorizationFailed.Code, nil
			}
		}
	},
	"OffsetCommit": func(r kmsg.Response) {
		if r, ok := r.(*kmsg.OffsetCommitResponse); ok {
			for i := range r.Topics {
				r.Topics[i].Partitions[0].ErrorCode = kerr.GroupAuthorizationFailed.Code
			}
		}
	},
}

// What a broker does not allow the user hears of, whichever request it was, with the broker's own error to look for; nothing is tried for ever in silence.
func TestWhatIsNotAllowedIsTold(t *testing.T) {
	for name, want := range map[string]*kerr.Error{
		"Metadata": kerr.TopicAuthorizationFailed, "ListOffsets": kerr.TopicAuthorizationFailed, "Fetch": kerr.TopicAuthorizationFailed,
		"FindCoordinator": kerr.GroupAuthorizationFailed, "JoinGroup": kerr.GroupAuthorizationFailed, "SyncGroup": kerr.GroupAuthorizationFailed,
		"Heartbeat": kerr.GroupAuthorizationFailed, "OffsetFetch": kerr.GroupAuthorizationFailed,
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *world) {
				w.topic("t", 1)
				cfg := w.config()
				cfg.Cluster.Dial = w.meddles(forbids[name])
				a := w.idler("a", cfg, "t")
				ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
				defer cancel()
				_, err := a.Poll(ctx)
				if !errors.Is(err, want) {
					t.Errorf("polling: %v, not %v", err, want)
				}
				if _, fatal := errors.AsType[*JoinError](err); fatal != (name == "JoinGroup" || name == "SyncGroup" || name == "Heartbeat") {
					t.Errorf("that it is the end of the membership is %t: %v", fatal, err)
				}
				if at, ok := errors.AsType[*PartitionError](err); name == "Fetch" && (!ok || at.Topic != "t") {
					t.Errorf("%v does not say which partition", err)
				}
				_ = a.Close(ctx)
			})
		})
	}
}

// A commit that is not allowed names its partitions, and what the broker said of each.
func TestACommitThatIsNotAllowed(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 1)
		w.writes("t", 0, 10)
		cfg := w.config()
		cfg.ManualCommit = true
		cfg.Cluster.Dial = w.meddles(forbids["OffsetCommit"])
		a := w.idler("a", cfg, "t")
		a.next(10)
		err := a.Commit(context.Background())
		refused, ok := errors.AsType[*CommitError](err)
		if !ok || !errors.Is(refused.Refused[TopicPartition{Topic: "t"}], kerr.GroupAuthorizationFailed) {
			t.Errorf("committing: %v", err)
		}
		a.close()
	})
}
