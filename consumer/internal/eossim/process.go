package eossim

import (
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/skeinstream/skein/internal/simulation"
)

// process is a place where one member after another runs.
type process struct {
	w     *world
	name  string
	spec  spec
	now   *member // nil: none runs
	count int
	dice  *simulation.Dice
	over  bool // it is not started again
	ends  bool // somebody has told the one that runs to stop
}

// begin starts a process under a new name.
func (w *world) begin(name string, s spec) *process {
	p := &process{w: w, name: name, spec: s, dice: simulation.NewDice(w.script.Seed, name)}
	w.procs[name] = p
	w.order = append(w.order, p)
	p.start()
	return p
}

// start begins the next member.
func (p *process) start() {
	p.count++
	p.now = newMember(p)
	p.w.Say("%s begins as %s", p.now.name(), p.spec.words())
	p.now.begin()
}

// restart begins the next member once there is none.
func (p *process) restart(after time.Duration) {
	p.w.After(after+p.dice.Between(0, 2*time.Second), func() {
		switch {
		case p.over:
		case p.now == nil:
			p.start()
		case p.now.leaving():
			p.restart(300 * time.Millisecond)
		}
	})
}

// transactionalID is that of the member that runs: of a static one always the same, else its own.
func (p *process) transactionalID() string {
	if p.spec.instance != "" {
		return groupName + "-" + p.spec.instance
	}
	return fmt.Sprintf("%s-%s-%d", groupName, p.name, p.count)
}

// ended is the supervisor: the member has ended, with an error or because it was told to. A process whose place another has taken is not started
// again.
func (p *process) ended(err error) {
	name := p.now.name()
	p.now = nil
	p.w.Say("%s has ended: %v", name, err)
	switch {
	case p.ends:
		p.ends = false
	case err == nil:
		p.w.judge.violates("fatal", "%s has ended, and nobody had told it to", name)
	case errors.Is(err, kerr.FencedInstanceID) && p.spec.instance != "":
		p.over = true
	default:
		p.w.judge.fails(name, err)
		p.restart(2 * time.Second)
	}
}

// kill ends it at once.
func (p *process) kill() {
	p.w.Say("%s is killed", p.now.name())
	p.now.end()
	p.now, p.ends = nil, false
	p.restart(0)
}

// stop tells it to end.
func (p *process) stop() {
	p.ends = true
	p.now.quit()
}
