// Package groups asks a cluster about its groups and changes them: what the verbs of `skein group` stand on.
//
// It works against any Kafka cluster from 2.0 on: what an old broker does not tell is left out, and what only a Skein broker
// tells (the reasons of rebalances) is read where it is there. What is computed from the answers (lag, where offsets go) is
// computed by functions without a cluster.
package groups

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/skeinstream/skein/cli/internal/problem"
)

// Client asks one cluster.
type Client struct {
	Kafka *kgo.Client
	Admin *kadm.Client
}

// ErrUnknown says that the cluster has no such group.
var ErrUnknown = errors.New("there is no such group")

// Missing says that a group does not exist and which one was probably meant; hint is for when none is near.
func (c Client) Missing(ctx context.Context, group, hint string) error {
	if listed, err := c.Admin.ListGroups(ctx); err == nil {
		if near := problem.DidYouMean(group, listed.Groups()); near != "" {
			hint = near
		}
	}
	return &problem.Error{What: fmt.Sprintf("there is no group %q", group), Hint: hint, Err: ErrUnknown}
}

// Refused is something that the coordinator of a group refused to do: what it said, and what to do about it.
func Refused(act, group string, err error, message string) error {
	reason := message
	if reason == "" {
		reason = ReasonText(err)
	}
	return &problem.Error{What: fmt.Sprintf("cannot %s: %s", act, reason), Hint: Advice(err, group), Err: err}
}

// ReasonText is a broker's error without its code's spelling in capitals.
func ReasonText(err error) string {
	if code, ok := errors.AsType[*kerr.Error](err); ok && code.Description != "" {
		return strings.TrimSuffix(code.Description, ".") + " (" + code.Message + ")"
	}
	return err.Error()
}

// Advice says what to do about an error of a group's coordinator, or "".
func Advice(err error, group string) string {
	switch {
	case errors.Is(err, kerr.UnknownMemberID), errors.Is(err, kerr.NonEmptyGroup), errors.Is(err, kerr.RebalanceInProgress):
		return "the group has members: stop them first; those that are gone without a word are taken out with `skein group remove-member " + group + " --all`"
	case errors.Is(err, kerr.GroupSubscribedToTopic):
		return "members of the group subscribe to the topic: stop them first, or have them subscribe to others"
	case errors.Is(err, kerr.GroupIDNotFound):
		return "`skein group list` shows the groups that there are"
	case errors.Is(err, kerr.GroupAuthorizationFailed), errors.Is(err, kerr.TopicAuthorizationFailed):
		return "ask the cluster's operator for an ACL, or authenticate as somebody else"
	case errors.Is(err, kerr.UnstableOffsetCommit):
		return "a transaction that commits the group's offsets is open: try again when it has ended"
	}
	return ""
}

// unserved says that the broker is too old for a request. The client has no name for that.
func unserved(err error) bool {
	return err != nil && strings.Contains(err.Error(), "broker is too old")
}

// Listed is one group of a list.
type Listed struct {
	Group        string `json:"group"`
	Type         string `json:"type"`
	ProtocolType string `json:"protocol_type"` // "" where clients assign partitions themselves
	State        string `json:"state"`
	Coordinator  int32  `json:"coordinator"`
}

// List lists all groups by name. When only some brokers answered it returns theirs together with an error.
//
// Brokers before 2.6 tell no state and those before 3.8 no type: the former is asked for, the latter can only be one.
func (c Client) List(ctx context.Context) ([]Listed, error) {
	answered, err := c.Admin.ListGroups(ctx)
	if err != nil {
		err = fmt.Errorf("listing groups: %w", err)
	}
	list, stateless := []Listed{}, []string{}
	for _, g := range answered {
		if g.State == "" {
			stateless = append(stateless, g.Group)
		}
		list = append(list, Listed{g.Group, cmp.Or(strings.ToLower(g.GroupType), Classic), g.ProtocolType, g.State, g.Coordinator})
	}
	slices.SortFunc(list, func(a, b Listed) int { return strings.Compare(a.Group, b.Group) })
	return list, errors.Join(err, c.fillStates(ctx, list, stateless))
}

func (c Client) fillStates(ctx context.Context, list []Listed, stateless []string) error {
	if len(stateless) == 0 {
		return nil
	}
	described, err := c.Admin.DescribeGroups(ctx, stateless...)
	for i, g := range list {
		if g.State == "" {
			list[i].State = described[g.Group].State
		}
	}
	if err != nil {
		return fmt.Errorf("asking for the states of groups: %w", err)
	}
	return nil
}

// Types of groups, and states that groups of these types can be in.
const (
	Classic  = "classic"
	Consumer = "consumer"
	empty    = "Empty"
	dead     = "Dead"
)

// Types lists the types of groups that clusters know.
func Types() []string { return []string{Classic, Consumer, "share", "streams"} }

// States lists the states of groups of all types.
func States() []string {
	return []string{empty, "PreparingRebalance", "CompletingRebalance", "Stable", dead, "Assigning", "Reconciling", "NotReady"}
}
