package simulation

import "time"

// Disk makes one thing durable after the other.
type Disk struct {
	clock  *Clock
	dice   *Dice
	synced time.Time // when what was written last will be durable
}

// NewDisk is a disk whose syncs take as long as the dice say.
func NewDisk(c *Clock, d *Dice) *Disk { return &Disk{clock: c, dice: d} }

// Write has something done when what is written now is durable.
func (d *Disk) Write(do func()) {
	d.synced = Later(d.synced, d.clock.Now.Add(d.dice.Between(100*time.Microsecond, 8*time.Millisecond)))
	d.Read(do)
}

// Read has something done when all that was written is durable: at once if it is.
func (d *Disk) Read(do func()) {
	if d.synced.After(d.clock.Now) {
		d.clock.At(d.synced, do)
		return
	}
	do()
}
