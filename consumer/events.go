package consumer

import (
	"context"
	"log/slog"

	"github.com/skeinstream/skein/consumer/internal/membership"
)

// tell passes an event on: to the log, the hooks and the figures.
func (d *driver) tell(e Event) {
	if e.Kind == Joined && !e.Leader {
		d.topics.led = nil
	}
	d.c.stats.event(e)
	d.c.cfg.Hooks.event(e)
	d.c.logEvent(e)
}

// logCall says which partitions come and go.
func (d *driver) logCall(c *call) {
	if len(c.Partitions) == 0 {
		return
	}
	level, msg := slog.LevelInfo, "partitions are assigned"
	switch c.Callback {
	case membership.Revoked:
		msg = "partitions are revoked"
	case membership.Lost:
		level, msg = slog.LevelWarn, "partitions are lost"
	case membership.Assigned:
	}
	d.c.log.Log(context.Background(), level, msg, "group", d.c.cfg.Group, "generation", c.generation, "partitions", names(c.Partitions))
}

// logEvent writes one line for each change of state (R-I5).
func (c *Consumer) logEvent(e Event) {
	say := func(level slog.Level, msg string, attrs ...slog.Attr) {
		attrs = append([]slog.Attr{slog.String("group", c.cfg.Group), slog.String("member", e.Member), slog.Int("generation", int(e.Generation))}, attrs...)
		c.log.LogAttrs(context.Background(), level, msg, attrs...)
	}
	switch e.Kind {
	case Rejoining:
		say(slog.LevelInfo, "a rebalance begins", slog.String("reason", e.Reason))
	case Joined:
		say(slog.LevelInfo, "joined a generation", slog.Int("old", int(e.OldGeneration)), slog.String("assignor", e.Assignor), slog.Bool("leader", e.Leader))
	case Completed:
		say(slog.LevelInfo, "the rebalance is complete", slog.String("assignor", e.Assignor), slog.Bool("cooperative", e.Cooperative),
			slog.Int("added", e.Added), slog.Int("revoked", e.Revoked))
	case Yielded:
		say(slog.LevelWarn, "a member that is EAGER alone has come: giving up all partitions to let it in", slog.Any("offered", e.Offered), slog.Int("partitions", e.Dropped))
	case Adopted:
		say(slog.LevelInfo, "offering the assignor that the group runs, too", slog.Any("offered", e.Offered), slog.Any("group runs", e.Group))
	case Switched:
		say(slog.LevelInfo, "the rebalance protocol changes", slog.String("assignor", e.Assignor), slog.Bool("cooperative", e.Cooperative))
	case Expelled:
		say(slog.LevelWarn, "the group has gone on without this member: its partitions are lost", slog.Int("partitions", e.Dropped))
	case ShortCircuit:
		say(slog.LevelWarn, "an EAGER assignor was selected while partitions are owned: they count as lost", slog.String("assignor", e.Assignor), slog.Int("partitions", e.Dropped))
	case Withheld:
		say(slog.LevelWarn, "holding partitions back that other members claim", slog.String("assignor", e.Assignor), slog.Int("partitions", e.Dropped))
	}
}
