package group

import (
	"log/slog"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/skeinstream/skein/internal/grouptags"
)

// historyMax is how many generations of a group are remembered. They are lost with the machine.
const historyMax = 32

// reasonMax is how much of a client's own reason is kept, in bytes; KIP-800 has clients send 255 characters at most.
const reasonMax = 255

// cause is why a rebalance begins, and by whom; no member where it was nobody, or several.
type cause struct {
	what                         grouptags.Cause
	member, instance, client, by string // by is the client's own reason
}

func causeOf(what grouptags.Cause, who *member, reason *string) cause {
	return cause{what, who.id, who.instanceID(), who.clientID, shortened(text(reason))}
}

// shortened cuts a text at a character. What it returns does not hold on to the rest.
func shortened(s string) string {
	if len(s) <= reasonMax {
		return s
	}
	end := reasonMax
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return strings.Clone(s[:end])
}

// generationBegun enters the generation that the round has led to in the history, and in the log.
func (g *Group) generationBegun() {
	why := g.round.cause
	h := grouptags.Generation{
		Number: g.generation, Cause: why.what, MemberID: why.member, InstanceID: why.instance, ClientID: why.client, Reason: why.by,
		Protocol: text(g.protocol), Members: int32(g.members.len()),
		Started: g.round.started, Joining: g.m.now.Sub(g.round.started), Syncing: -1,
	}
	g.remember(h)
	g.m.note(slog.LevelInfo, "group rebalanced", slog.String("group", g.name), slog.Int64("generation", int64(h.Number)),
		slog.Int64("old_generation", int64(h.Number-1)), slog.String("cause", h.Cause.String()), slog.String("member", h.MemberID),
		slog.String("client", h.ClientID), slog.String("reason", h.Reason), slog.String("protocol", h.Protocol),
		slog.Int64("members", int64(h.Members)), slog.Duration("took", h.Joining))
}

// remember keeps the last generations.
func (g *Group) remember(h grouptags.Generation) {
	if len(g.history) == historyMax {
		copy(g.history, g.history[1:])
		g.history = g.history[:historyMax-1]
	}
	g.history = append(g.history, h)
}

// assignmentStored enters in the history that the generation has its assignment.
func (g *Group) assignmentStored(waited time.Duration) {
	if last := len(g.history) - 1; last >= 0 {
		g.history[last].Syncing = waited
	}
}
