package story

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/skeinstream/skein/internal/ownership"
)

// What is told besides the events of ownership.
const (
	Started    ownership.Kind = "started"     // a process of Code has begun
	Completed  ownership.Kind = "completed"   // a member has its assignment
	Rejoining  ownership.Kind = "rejoining"   // a rebalance begins for a member
	Switched   ownership.Kind = "switched"    // a member runs the other protocol from now on
	Yielded    ownership.Kind = "yielded"     // a member has been refused, and gives up all it owns to join anew
	Stopped    ownership.Kind = "stopped"     // a process has ended as it should
	Killed     ownership.Kind = "killed"      // a process has ended as by kill -9
	BrokerDown ownership.Kind = "broker_down" // the broker ends
	BrokerUp   ownership.Kind = "broker_up"   // it is back
	Stepped    ownership.Kind = "step"        // Text is what is done now
	Failed     ownership.Kind = "failed"      // something that should not happen: Text
)

// Event is one moment of the play. Slot is the place of the member, 0 if it is about none.
type Event struct {
	ownership.Event
	Slot        int
	Code        Code
	Cooperative bool // of Completed and Switched: what the member runs from now on
	Act         int  // of Began
	Text        string
}

// Line is the event for people, "" if it is none of their concern.
func (e Event) Line() string { return strings.Map(visible, e.words()) }

// visible keeps what others say, as in errors, from moving the cursor.
func visible(r rune) rune {
	if unicode.IsControl(r) {
		return ' '
	}
	return r
}

func (e Event) words() string {
	who := e.Member
	switch e.Kind {
	case Started:
		return fmt.Sprintf("%s starts, %s code", who, e.Code)
	case ownership.Joined:
		if e.Leader {
			return fmt.Sprintf("generation %d runs %s; %s leads", e.Generation, e.Assignor, who)
		}
	case ownership.Revoked:
		if len(e.Partitions) > 0 {
			return fmt.Sprintf("%s gives up %s", who, Ranges(e.Partitions))
		}
	case ownership.Lost:
		return fmt.Sprintf("%s has lost %s", who, Ranges(e.Partitions))
	case ownership.Assigned:
		if len(e.Partitions) > 0 {
			return fmt.Sprintf("%s gets %s", who, Ranges(e.Partitions))
		}
	case ownership.Refused:
		return fmt.Sprintf("%s: a commit of %s is refused: %s", who, Ranges(e.Partitions), e.Text)
	case Switched:
		return fmt.Sprintf("%s runs %s from now on", who, ProtocolOf(e.Cooperative))
	case Yielded:
		return fmt.Sprintf("%s gives up all to let an old member in", who)
	case Stopped:
		return who + " has stopped"
	case Killed:
		return who + " is killed (-9)"
	case BrokerDown:
		return "the broker goes down"
	case BrokerUp:
		return "the broker is back"
	case ownership.Began:
		return fmt.Sprintf("act %d: %s", e.Act+1, e.Phase)
	case Stepped:
		return e.Text
	case Failed:
		return "FAILED: " + e.Text
	}
	return ""
}

// Ranges writes numbers that are in order as 0-3,7.
func Ranges(list []int32) string {
	text := ""
	for i := 0; i < len(list); {
		j := i
		for j+1 < len(list) && list[j+1] == list[j]+1 {
			j++
		}
		if text != "" {
			text += ","
		}
		if text += fmt.Sprint(list[i]); j > i {
			text += fmt.Sprintf("-%d", list[j])
		}
		i = j + 1
	}
	return text
}
