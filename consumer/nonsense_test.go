//go:build synctests

package consumer

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// An answer about offsets that leaves a partition out does not say that the group has none: nothing is reset, and so nothing skipped.
func TestAnOffsetThatIsNotAnswered(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 1)
		w.writes("t", 0, 10)
		five := kadm.OffsetsFromRecords(kgo.Record{Topic: "t", Offset: 4})
		w.ok(kadm.NewClient(w.admin).CommitAllOffsets(context.Background(), "g", five))
		honest := time.Now().Add(10 * time.Second)
		cfg := w.config()
		cfg.Reset = Latest
		cfg.Cluster.Dial = w.meddles(func(resp kmsg.Response) {
			if offsets, ok := resp.(*kmsg.OffsetFetchResponse); ok && time.Now().Before(honest) {
				offsets.Topics, offsets.Groups = nil, nil
			}
		})
		a := w.member("a", cfg, "t")
		pass(9 * time.Second)
		if at, known := a.Position(tp("t", 0)); known {
			t.Errorf("it begins at %d, which nobody has said", at.At)
		}
		pass(10 * time.Second)
		if a.count() != 5 {
			t.Errorf("it handled %v", a.handled)
		}
		a.close()
	})
}

// Half a minute of nonsense, from which the member comes back by itself: what is read then is all there is, and what is committed, too.
func TestABrokerThatTalksNonsense(t *testing.T) {
	for seed := range uint64(6) {
		inBubble(t, func(w *world) {
			w.topic("t", 3)
			for p := range int32(3) {
				w.writes("t", p, 20)
			}
			honest := time.Now().Add(30 * time.Second)
			var mu sync.Mutex
			r := rand.New(rand.NewPCG(seed, 0))
			cfg := w.config()
			cfg.MaxPollRecords = 7
			cfg.Cluster.Dial = w.meddles(func(resp kmsg.Response) {
				mu.Lock()
				defer mu.Unlock()
				if time.Now().Before(honest) && r.IntN(3) == 0 {
					garble(resp, r)
				}
			})
			a := w.member("a", cfg, "t")
			pass(2 * time.Minute)
			if a.count() != 60 {
				t.Errorf("seed %d: it handled %d records, and did %q", seed, a.count(), a.log)
			}
			a.close()
			w.hasCommitted("t", map[int32]int64{0: 20, 1: 20, 2: 20})
		})
	}
}

// garble makes an answer one that nobody should give.
func garble(resp kmsg.Response, r *rand.Rand) {
	passing := []*kerr.Error{kerr.NotCoordinator, kerr.CoordinatorLoadInProgress, kerr.CoordinatorNotAvailable}[r.IntN(3)].Code
	switch resp := resp.(type) {
	case *kmsg.JoinGroupResponse:
		resp.ErrorCode = []int16{passing, kerr.UnknownMemberID.Code, kerr.MemberIDRequired.Code}[r.IntN(3)]
	case *kmsg.SyncGroupResponse:
		resp.ErrorCode = []int16{passing, kerr.IllegalGeneration.Code, kerr.RebalanceInProgress.Code}[r.IntN(3)]
	case *kmsg.HeartbeatResponse:
		resp.ErrorCode = []int16{passing, kerr.UnknownMemberID.Code, kerr.RebalanceInProgress.Code, 9999}[r.IntN(4)]
	case *kmsg.OffsetFetchResponse:
		resp.Topics = slices.Concat(resp.Topics, resp.Topics)
		if resp.Groups = slices.Concat(resp.Groups, resp.Groups); r.IntN(2) == 0 {
			resp.Topics, resp.Groups = nil, nil
		}
	case *kmsg.OffsetCommitResponse:
		resp.Topics = nil
	case *kmsg.ListOffsetsResponse:
		if resp.Topics = slices.Concat(resp.Topics, resp.Topics); r.IntN(2) == 0 {
			resp.Topics = nil
		}
	case *kmsg.FetchResponse:
		resp.Topics = nil
	}
}
