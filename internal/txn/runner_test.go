package txn

import (
	"time"

	"github.com/skeinstream/skein/internal/machine"
)

// runner runs a machine as the coordinator's loop does, and nothing else.
type runner struct {
	m   *Machine
	now time.Time
}

func (r *runner) step(in any) any {
	o := r.m.Step(r.now, 1, in)
	r.apply(o)
	return o.Replies[0].Value
}

func (r *runner) apply(o machine.Output) {
	for _, rec := range o.Records {
		r.m.Apply(rec)
	}
}
