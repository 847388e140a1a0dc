package broker

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// offering makes the member offer these protocols.
func (m *member) offering(names ...string) *member {
	m.offers = nil
	for _, name := range names {
		m.offers = append(m.offers, kmsg.JoinGroupRequestProtocol{Name: name, Metadata: []byte("as " + name)})
	}
	return m
}

// joining sends a join and returns its outcome when it comes.
func (m *member) joining() chan error {
	outcome := make(chan error, 1)
	go func() { outcome <- m.join() }()
	synctest.Wait()
	return outcome
}

// stable are members that offer protocols, in a generation.
func (h *house) stable(n int, protocols ...string) (members []*member) {
	h.t.Helper()
	results := make(chan error, n)
	for range n {
		m := h.member("g", nil).offering(protocols...)
		members = append(members, m)
		go func() { results <- m.stay(time.Now(), time.Second, echo) }()
	}
	for range n {
		if err := <-results; err != nil {
			h.t.Fatal(err)
		}
	}
	return members
}

// R-C2, R-C3: what members offer outlives the broker, so that after a restart a member is let in, or not, as before it.
func TestOffersOutliveTheBroker(t *testing.T) {
	for name, setting := range map[string]string{"kept": "true", "as Kafka": "false"} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, map[string]string{"skein.group.persist.protocols": setting}, func(h *house) {
				members := h.stable(2, "range", "cooperative-sticky")
				h.restart()
				for _, m := range members {
					m.w = h.wire()
				}
				newer := h.member("g", nil).offering("cooperative-sticky")
				outcome := newer.joining()
				if setting == "false" {
					if err := <-outcome; err != kerr.InconsistentGroupProtocol {
						t.Errorf("the newer member: %v", err)
					}
					return
				}
				a, b := members[0].joining(), members[1].joining()
				for _, outcome := range []chan error{outcome, a, b} {
					if err := <-outcome; err != nil {
						t.Fatal(err)
					}
				}
				if newer.protocol != "cooperative-sticky" {
					t.Errorf("%s was selected", newer.protocol)
				}
			})
		})
	}
}

// R-C15: a member that knows only what others hold back is let in, and they fall back in good order.
func TestAnOlderMemberIsLetIn(t *testing.T) {
	withheld := []byte{2, 6, 'r', 'a', 'n', 'g', 'e', 9, 'a', 's', ' ', 'r', 'a', 'n', 'g', 'e', 0} // docs/format/group-tags.md
	inBubble(t, nil, func(h *house) {
		owner := h.stable(1, "cooperative-sticky")[0]
		narrow := owner.joinRequest()
		narrow.UnknownTags.Set(10000, withheld)
		if resp, err := ask[*kmsg.JoinGroupResponse](owner.w, narrow); err != nil || resp.ErrorCode != 0 {
			t.Fatal(resp, err)
		} else {
			owner.generation, owner.others = resp.Generation, resp.Members
		}
		if err := owner.sync(echo); err != nil {
			t.Fatal(err)
		}
		older := h.member("g", nil).offering("range")
		outcome := older.joining()
		if err := owner.heartbeat(); err != kerr.RebalanceInProgress {
			t.Fatalf("the owner's heartbeat: %v", err)
		}
		if resp, err := ask[*kmsg.JoinGroupResponse](owner.w, narrow); err != nil || failed(resp.ErrorCode) != kerr.InconsistentGroupProtocol {
			t.Fatalf("the owner joins with less: %+v, %v", resp, err)
		}
		h.createTopic("t", 1)
		if err := commitOffset(owner.w, "g", owner, "t", 0, 5); err != nil {
			t.Errorf("the owner commits before it gives up: %v", err)
		}
		if err := <-owner.offering("cooperative-sticky", "range").joining(); err != nil {
			t.Fatal(err)
		}
		if err := <-outcome; err != nil || older.protocol != "range" {
			t.Errorf("the older member: %v, protocol %q", err, older.protocol)
		}
	})
}

// KIP-800: who rebalanced the group, and why, is told in a tagged field of DescribeGroups.
func TestWhyAGroupRebalancedIsTold(t *testing.T) {
	inBubble(t, nil, func(h *house) {
		m := h.stable(1, "range")[0]
		req := m.joinRequest()
		req.Reason = kmsg.StringPtr("the leader has seen new partitions")
		if resp, err := ask[*kmsg.JoinGroupResponse](m.w, req); err != nil || resp.ErrorCode != 0 || resp.Generation != 2 {
			t.Fatal(resp, err)
		}
		var told []byte
		g := h.describe("g")
		g.UnknownTags.Each(func(tag uint32, value []byte) {
			if tag == 10000 {
				told = value
			}
		})
		for _, what := range []string{*req.Reason, m.id} {
			if !bytes.Contains(told, []byte(what)) {
				t.Errorf("%q does not tell %q", told, what)
			}
		}
	})
}

// R-K11: after a restart a member that joins again as it always did is in the generation that it was in.
func TestARestartRebalancesNobody(t *testing.T) {
	inBubble(t, nil, func(h *house) {
		members := h.stable(3, "range", "cooperative-sticky")
		generation := members[0].generation
		h.restart()
		for _, m := range members {
			m.w = h.wire()
			if err := retrying(m.heartbeat); err != nil {
				t.Errorf("%s: %v", m.id, err)
			}
			if m.leader {
				continue // whose join is a wish for a new generation
			}
			was := m.assignment
			if err := m.join(); err != nil || m.generation != generation {
				t.Errorf("%s joins generation %d (%v), want %d", m.id, m.generation, err, generation)
			}
			if err := m.sync(nil); err != nil || !bytes.Equal(m.assignment, was) {
				t.Errorf("%s gets %q (%v), want %q", m.id, m.assignment, err, was)
			}
		}
		for _, m := range members {
			if err := m.heartbeat(); err != nil {
				t.Errorf("%s: %v", m.id, err)
			}
		}
	})
}
