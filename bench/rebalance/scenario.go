package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/skeinstream/skein/bench/internal/stops"
)

// Names of the scenarios: what a change is laid to.
const (
	scaleUp = "scale-up"
	loss    = "loss"
	bounce  = "bounce"
	swap    = "switch"
)

func scenarios() []string { return []string{scaleUp, bounce, loss, swap} }

// title says what a scenario is.
func title(scenario string, s size) string {
	switch scenario {
	case scaleUp:
		return fmt.Sprintf("Scale-up from %d members to %d, %d partitions", s.few, s.few+1, s.partitions)
	case loss:
		return fmt.Sprintf("Loss of one of %d members (kill -9), %d partitions", s.few+1, s.partitions)
	case bounce:
		return fmt.Sprintf("Rolling bounce of %d members, %d partitions", s.many, 2*s.many)
	default:
		return fmt.Sprintf("From range to a cooperative protocol by rolling bounces of %d members, %d partitions", s.few+1, s.partitions)
	}
}

// size is how large the groups are.
type size struct{ few, many, partitions int }

func fullSize() size { return size{few: 3, many: 10, partitions: 12} }

// life is one group of a client, which goes through one or two scenarios.
type life struct {
	name      string
	scenarios []string
	live      func(context.Context, *group, size) error
}

func lives() []life {
	return []life{
		{"small", []string{scaleUp, loss}, liveSmall},
		{"bounce", []string{bounce}, liveBounce},
		{"switch", []string{swap}, liveSwitch},
	}
}

// liveSmall: one more member comes, then another one is killed.
func liveSmall(ctx context.Context, g *group, s size) error {
	if err := g.begin(ctx, s.few, g.client.assignors); err != nil {
		return err
	}
	if err := g.comes(ctx, scaleUp, g.client.assignors); err != nil {
		return err
	}
	if !g.wants(loss) { // a session takes long
		return nil
	}
	if err := g.calm(ctx); err != nil {
		return err
	}
	return g.dies(ctx, loss)
}

// liveBounce: each member leaves, and another one comes for it.
func liveBounce(ctx context.Context, g *group, s size) error {
	if err := g.begin(ctx, s.many, g.client.assignors); err != nil {
		return err
	}
	return g.bounce(ctx, s.many, bounce, g.client.assignors)
}

// liveSwitch: one rolling bounce for each list that the client needs.
func liveSwitch(ctx context.Context, g *group, s size) error {
	if err := g.begin(ctx, s.few+1, g.client.bounces[0]); err != nil {
		return err
	}
	for _, assignors := range g.client.bounces[1:] {
		if err := g.bounce(ctx, s.few+1, swap, assignors); err != nil {
			return err
		}
	}
	return nil
}

func (g *group) bounce(ctx context.Context, members int, scenario, assignors string) error {
	for range members {
		if err := g.leaves(ctx, scenario); err != nil {
			return err
		}
		if err := g.comes(ctx, scenario, assignors); err != nil {
			return err
		}
	}
	return nil
}

// run lives one life and judges it.
func (l life) run(ctx context.Context, addr, name, dir string, c client, o options) ([]stops.Outcome, error) {
	partitions := o.size.partitions
	if l.name == "bounce" {
		partitions = 2 * o.size.many
	}
	if o.traces != "" {
		dir = o.traces // what members say is kept there
	}
	dir = filepath.Join(dir, strings.Map(fileName, c.name+" "+name))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("making a directory for what members say: %w", err)
	}
	g, err := newGroup(ctx, addr, name, dir, partitions, c, o)
	if err != nil {
		return nil, err
	}
	lived := l.live(ctx, g, o.size)
	trace, err := g.end(ctx)
	if o.traces != "" {
		err = errors.Join(err, writeTrace(dir+".trace", trace))
	}
	if err := errors.Join(lived, err); err != nil {
		return nil, fmt.Errorf("%s: %w%s", c.name, err, g.said())
	}
	return stops.Judge(trace), nil
}

// said is what members wrote to standard error.
func (g *group) said() string {
	var b strings.Builder
	for name, p := range g.members {
		if text := p.said(); text != "" {
			fmt.Fprintf(&b, "\n%s said: %s", name, text)
		}
	}
	return b.String()
}
