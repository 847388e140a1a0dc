package consumer

import "fmt"

// Assign reads partitions without being a member of a group: nobody else is kept from reading them. It takes the place of what was assigned
// before; partitions that stay keep their position and their pause. With a Config.Group they begin at its offsets, and commits are
// those of nobody (generation -1): a group that has members refuses them. No partitions end the assignment. It needs no Listener: no
// callback is called. It does not go with Subscribe.
func (c *Consumer) Assign(list ...TopicPartition) error {
	if c.closing.Load() {
		return ErrClosed
	}
	err := ErrClosed
	c.driver.ask(func() {
		var gone, fresh []TopicPartition
		if gone, fresh, err = c.table.assign(list); err == nil {
			c.unassign(gone)
			c.driver.start(fresh, false)
		}
	})
	if err != nil {
		return fmt.Errorf("assigning partitions: %w", err)
	}
	return nil
}

// unassign takes partitions back that were assigned by hand. What the user is done with is committed, as far as that is the consumer's to do.
func (c *Consumer) unassign(gone []TopicPartition) {
	if len(gone) == 0 {
		return
	}
	c.driver.stop(gone)
	if !c.cfg.ManualCommit && c.cfg.Group != "" {
		c.commits.ask(func() *commitJob {
			g, err := c.committing()
			offsets := c.table.progress(gone, true)
			if err != nil || len(offsets) == 0 {
				return nil
			}
			return &commitJob{ctx: c.commits.life, offsets: offsets, generation: g, done: func(Offsets, error) {}}
		})
	}
	c.table.drop(gone, ErrRevoked)
}

// assign says what of a new assignment is gone, and what is fresh. The partitions themselves are the driver's to stop and start.
func (t *table) assign(list []TopicPartition) (gone, fresh []TopicPartition, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.subscribed {
		return nil, nil, ErrAssigned
	}
	t.manual = len(list) > 0
	wanted := map[TopicPartition]bool{}
	for _, tp := range list {
		if t.partitions[tp] == nil && !wanted[tp] {
			fresh = append(fresh, tp)
		}
		wanted[tp] = true
	}
	for tp := range t.partitions {
		if !wanted[tp] {
			gone = append(gone, tp)
		}
	}
	return gone, fresh, nil
}

// byHand are the partitions that were assigned by hand.
func (t *table) byHand() (list []TopicPartition) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.manual {
		return nil
	}
	for tp := range t.partitions {
		list = append(list, tp)
	}
	return list
}
