package stage

import (
	"context"
	"fmt"
	"time"

	"github.com/skeinstream/skein/cli/internal/demo/story"
	"github.com/skeinstream/skein/internal/ownership"
)

// acts plays all acts.
func (p *Play) acts(ctx context.Context) error {
	for i, act := range p.state.Acts {
		p.tell(p.state.Opening(i))
		for _, step := range act.Steps {
			if err := p.step(ctx, step); err != nil {
				return err
			}
		}
		p.Look((*story.State).Meets)
	}
	return nil
}

func (p *Play) step(ctx context.Context, step story.Step) error {
	if p.text != step.Text {
		p.text = step.Text
		p.tell(story.Event{Event: ownership.Event{Kind: story.Stepped}, Text: step.Text})
	}
	switch step.Do {
	case story.Start:
		return p.start(step.Slot, step.Code)
	case story.Stop:
		p.stop(step.Slot)
	case story.Kill:
		p.kill(step.Slot)
	case story.KillLeader:
		return p.killLeader()
	case story.Replace:
		return p.replace(step.Code)
	case story.Restart:
		return p.restart(ctx)
	case story.Settle:
		since := time.Now()
		return p.await(ctx, step.Text+": waiting for the group to settle", func(s *story.State) bool { return s.Settled(since) })
	case story.Show:
		return pause(ctx, p.cfg.Pace)
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// start starts a process in a place that is free.
func (p *Play) start(slot int, code story.Code) error {
	m := &member{play: p, slot: slot, name: fmt.Sprintf("%s-%d", code, slot)}
	p.tell(story.Event{Event: ownership.Event{Kind: story.Started, Member: m.name}, Slot: slot, Code: code})
	if err := m.start(code); err != nil {
		return fmt.Errorf("starting %s: %w", m.name, err)
	}
	p.members[slot-1] = m
	return nil
}

// replace starts a process in the place of whoever was killed last.
func (p *Play) replace(code story.Code) error {
	slot := 0
	p.Look(func(s *story.State) { slot = s.LastKilled() })
	return p.start(slot, code)
}

// stop ends a process as it should end. It returns when it is gone.
func (p *Play) stop(slot int) {
	if m := p.members[slot-1]; m != nil {
		p.members[slot-1] = nil
		m.stop()
	}
}

// kill ends a process as kill -9 does: nothing more goes out of it.
func (p *Play) kill(slot int) {
	m := p.members[slot-1]
	p.members[slot-1] = nil
	m.kill()
	p.reaping.Go(m.reap)
}

func (p *Play) killLeader() error {
	leader := 0
	p.Look(func(s *story.State) { leader = s.Leader() })
	if leader == 0 {
		return fmt.Errorf("killing the leader: no member says that it leads")
	}
	p.kill(leader)
	return nil
}

func (p *Play) restart(ctx context.Context) error {
	p.tell(story.Event{Event: ownership.Event{Kind: story.BrokerDown}})
	if err := p.house.restart(ctx, p.cfg.Pace); err != nil {
		return fmt.Errorf("starting the broker again: %w", err)
	}
	p.tell(story.Event{Event: ownership.Event{Kind: story.BrokerUp}})
	return nil
}
