package groups

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Removed is what became of one member that was to leave.
type Removed struct {
	Member     string `json:"member_id,omitempty"`
	InstanceID string `json:"instance_id,omitempty"`
	ClientID   string `json:"client_id"`
	Host       string `json:"host"`
	Removed    bool   `json:"removed"`
	Error      string `json:"error,omitempty"`

	err error // what Error tells
}

// Advice says what to do about a member that could not be taken out.
func (r Removed) Advice(group string) string {
	hint := "`skein group members " + group + "` shows who is there now"
	if !errors.Is(r.err, kerr.UnknownMemberID) {
		hint = cmp.Or(Advice(r.err, group), hint)
	}
	return hint
}

// leavesMany is the first version of LeaveGroup that takes out several members, and those with an instance id.
const leavesMany = 3

// Remove takes members out of a group. Static members are named by their instance id alone, as an operator does, so that a
// restart in between does not matter; the others by the id that the coordinator gave them.
//
// The request names the first member in the form of old brokers too, which take out one at a time.
func (c Client) Remove(ctx context.Context, group string, members []Member, reason string) ([]Removed, error) {
	list := []Removed{}
	for len(members) > 0 {
		req := kmsg.NewPtrLeaveGroupRequest()
		req.Group, req.MemberID = group, members[0].ID
		for _, m := range members {
			req.Members = append(req.Members, leaving(m, reason))
		}
		resp, err := req.RequestWith(ctx, c.Kafka)
		if err != nil {
			return list, fmt.Errorf("taking members out of the group %s: %w", group, err)
		}
		first := resp.Version < leavesMany
		if err := kerr.ErrorForCode(resp.ErrorCode); err != nil && !first {
			return list, Refused("take members out of the group "+group, group, err, "")
		}
		gone := len(members)
		if first {
			gone = 1
		}
		for _, m := range members[:gone] {
			list = append(list, removed(m, leaveError(resp, m)))
		}
		members = members[gone:]
	}
	return list, nil
}

func leaving(m Member, reason string) kmsg.LeaveGroupRequestMember {
	out := kmsg.NewLeaveGroupRequestMember()
	if out.MemberID = m.ID; m.InstanceID != "" {
		out.MemberID, out.InstanceID = "", &m.InstanceID
	}
	out.Reason = &reason
	return out
}

// leaveError is what the coordinator said about a member.
func leaveError(resp *kmsg.LeaveGroupResponse, about Member) error {
	if resp.Version < leavesMany {
		return kerr.ErrorForCode(resp.ErrorCode)
	}
	for _, m := range resp.Members {
		if about.InstanceID != "" && text(m.InstanceID) == about.InstanceID || about.InstanceID == "" && m.MemberID == about.ID {
			return kerr.ErrorForCode(m.ErrorCode)
		}
	}
	return errors.New("the coordinator did not answer about it")
}

func removed(m Member, err error) Removed {
	out := Removed{Member: m.ID, InstanceID: m.InstanceID, ClientID: m.ClientID, Host: m.Host, Removed: err == nil, err: err}
	switch {
	case errors.Is(err, kerr.UnknownMemberID):
		out.Error = "it has left already"
	case err != nil:
		out.Error = ReasonText(err)
	}
	return out
}
