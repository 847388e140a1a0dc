package groups

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/grouptags"
)

// Rebalance is how a group came to a generation, as a Skein broker keeps it.
type Rebalance struct {
	At         time.Time `json:"at"`
	Generation int32     `json:"generation"`
	Cause      string    `json:"cause"`
	// The member that was the cause, if one was, and the reason that its client gave (KIP-800).
	Member     string `json:"member_id,omitempty"`
	InstanceID string `json:"instance_id,omitempty"`
	ClientID   string `json:"client_id,omitempty"`
	Reason     string `json:"reason,omitempty"`
	Protocol   string `json:"protocol,omitempty"`
	Members    int32  `json:"members"`
	// How long the group waited for members, and then for the assignment; null while that has not come.
	Joining *int64 `json:"joining_ms"`
	Syncing *int64 `json:"syncing_ms"`
}

// history reads what a Skein broker adds to the description of a group, the oldest first; nil when it is not there.
func history(tags kmsg.Tags) (list []Rebalance, err error) {
	tags.Each(func(number uint32, raw []byte) {
		if number != grouptags.DescribeHistory {
			return
		}
		var generations []grouptags.Generation
		if generations, err = grouptags.ReadHistory(raw); err != nil {
			return
		}
		list = []Rebalance{}
		for _, g := range generations {
			list = append(list, Rebalance{
				At: g.Started.UTC(), Generation: g.Number, Cause: g.Cause.String(),
				Member: g.MemberID, InstanceID: g.InstanceID, ClientID: g.ClientID, Reason: g.Reason,
				Protocol: g.Protocol, Members: g.Members, Joining: millis(g.Joining), Syncing: millis(g.Syncing),
			})
		}
	})
	return list, err
}

// lists reads what a Skein broker adds to the description of a member.
func (m *Member) lists(tags kmsg.Tags) (err error) {
	tags.Each(func(number uint32, raw []byte) {
		names, failed := grouptags.ReadNames(raw)
		switch {
		case number != grouptags.DescribeOffers && number != grouptags.DescribeWithheld:
		case failed != nil:
			err = failed
		case number == grouptags.DescribeOffers:
			m.Offers = names
		default:
			m.Withholds = names
		}
	})
	return err
}

func millis(d time.Duration) *int64 {
	if d < 0 {
		return nil
	}
	ms := d.Milliseconds()
	return &ms
}
