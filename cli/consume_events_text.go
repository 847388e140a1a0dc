package cli

import (
	"fmt"
	"strings"
)

// text is an event for people, or "" when it is of no interest to them.
func (e groupEvent) text() string {
	switch e.Event {
	case "completed":
		return fmt.Sprintf("member %s of the group %s, generation %d: %s, %s", e.Member, e.Group, e.Generation, e.Assignor, e.Protocol)
	case "assigned", "revoked", "lost":
		if e.Partitions.Len() == 0 {
			return ""
		}
		return fmt.Sprintf("%s: %s", e.Event, e.Partitions)
	case "rejoining":
		return "a rebalance begins: " + e.Reason
	case "yielded":
		return "a member with EAGER assignors alone has come: giving up all partitions to let it in"
	case "adopted":
		return fmt.Sprintf("the group runs %s, which is offered from now on, too", e.Assignor)
	case "switched":
		return fmt.Sprintf("the group runs %s from now on (%s)", e.Protocol, e.Assignor)
	case "expelled":
		return "the group has gone on without this member"
	case "short_circuit", "withheld":
		return fmt.Sprintf("%s was selected while members own partitions: %s", e.Assignor, map[bool]string{true: "held back for them", false: "they count as lost"}[e.Event == "withheld"])
	case "committed":
		if e.Error != "" {
			return "a commit was refused: " + e.Error
		}
	case "gap":
		return fmt.Sprintf("topic %s partition %d: the log does not hold what follows offset %d any more; reading goes on at %d", e.Gap.Topic, e.Gap.Partition, e.Gap.From, e.Gap.To)
	case "closed":
		return strings.TrimSpace(fmt.Sprintf("left the group %s after %s", e.Group, count(*e.Records, "record")))
	}
	return ""
}
