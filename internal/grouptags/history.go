package grouptags

import (
	"encoding/binary"
	"time"
)

// Cause is why a group began a rebalance.
type Cause int8

// The causes. Later versions may add more.
const (
	Joined          Cause = iota // a member came
	Left                         // a member left, or was removed by an administrator
	Expired                      // a member was silent for its session timeout
	MetadataChanged              // a member joined again with other protocols or metadata
	LeaderRejoined               // the leader joined again, which it does when topics have changed
	StaticReplaced               // a static member came back with protocols that change the selection
	SyncTimedOut                 // a member did not ask for its assignment in time
	OverSize                     // after a start with a smaller group.max.size
	Loaded                       // no rebalance: the broker started and took the generation over
	causes
)

// String is the cause in words.
func (c Cause) String() string {
	if c < 0 || c >= causes {
		return "unknown"
	}
	return [...]string{"member joined", "member left", "session expired", "metadata changed", "leader rejoined",
		"static member replaced", "sync timed out", "group over its maximum size", "broker started"}[c]
}

// Generation is how a group came to one of its generations.
type Generation struct {
	Number int32
	Cause  Cause
	// The member that gave the cause; "" when it was nobody. Reason is its own text (KIP-800).
	MemberID, InstanceID, ClientID, Reason string
	Protocol                               string // selected; "" in a group without members
	Members                                int32
	Started                                time.Time // in milliseconds
	// Joining is how long the group waited for members to join, Syncing how long it then waited for the leader's assignment:
	// negative while, or when, that did not come.
	Joining, Syncing time.Duration
}

// AppendHistory writes generations, the oldest first.
func AppendHistory(dst []byte, history []Generation) []byte {
	dst = appendLength(dst, len(history))
	for i := range history {
		dst = history[i].append(dst)
	}
	return dst
}

func (g *Generation) append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(g.Number))
	dst = append(dst, byte(g.Cause))
	for _, s := range []string{g.MemberID, g.InstanceID, g.ClientID, g.Reason, g.Protocol} {
		dst = appendText(dst, s)
	}
	dst = binary.BigEndian.AppendUint32(dst, uint32(g.Members))
	dst = binary.BigEndian.AppendUint64(dst, uint64(g.Started.UnixMilli()))
	dst = binary.BigEndian.AppendUint64(dst, uint64(millis(g.Joining)))
	dst = binary.BigEndian.AppendUint64(dst, uint64(millis(g.Syncing)))
	return append(dst, 0)
}

// millis keeps what is negative negative.
func millis(d time.Duration) int64 {
	if d < 0 {
		return -1
	}
	return d.Milliseconds()
}

// leastGeneration is how many bytes a Generation takes at least.
const leastGeneration = 4 + 1 + 5 + 4 + 3*8 + 1

// ReadHistory reads what AppendHistory wrote.
func ReadHistory(b []byte) ([]Generation, error) {
	r := reader{rest: b}
	history := make([]Generation, r.length(leastGeneration))
	for i := range history {
		history[i] = r.generation()
	}
	if err := r.end("the history of a group"); err != nil {
		return nil, err
	}
	return history, nil
}

func (r *reader) generation() Generation {
	g := Generation{Number: r.int32(), Cause: Cause(r.int8())}
	for _, s := range []*string{&g.MemberID, &g.InstanceID, &g.ClientID, &g.Reason, &g.Protocol} {
		*s = r.text()
	}
	g.Members = r.int32()
	g.Started = time.UnixMilli(r.int64())
	g.Joining, g.Syncing = r.duration(), r.duration()
	r.tags()
	return g
}

func (r *reader) duration() time.Duration { return time.Duration(r.int64()) * time.Millisecond }
