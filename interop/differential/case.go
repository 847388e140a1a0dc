package differential

import (
	"fmt"
	"strings"
	"time"
)

// pair is the two brokers that are compared.
type pair struct {
	kafka, target *side
	allowed       []allowance
	flights       []*flight // requests of members that wait for their answers
	delays        bool      // first rounds have a delay
	steps         int       // done so far
	reached       int       // how far the case came
	skipped       []string  // steps of it that had nothing to ask
	free          int       // cases that a free choice of the brokers ended
	seen          map[string]int
	trace         func(format string, args ...any) // shows Kafka's answers, if set
	found         map[string]bool                  // signatures of findings
}

func newPair(kafkaAddr, targetAddr string, allowed []allowance) (*pair, error) {
	kafka, err := newSide("kafka", kafkaAddr)
	if err != nil {
		return nil, err
	}
	target, err := newSide("target", targetAddr)
	if err != nil {
		return nil, err
	}
	return &pair{kafka: kafka, target: target, allowed: allowed, seen: make(map[string]int)}, nil
}

func (p *pair) close() {
	p.forget("")
	p.kafka.conn.close()
	p.target.conn.close()
}

// ranges are the versions that both sides answer.
func (p *pair) ranges() map[int16]versions {
	both := make(map[int16]versions)
	for key, k := range p.kafka.ranges {
		if t, ok := p.target.ranges[key]; ok {
			both[key] = versions{max(k.min, t.min), min(k.max, t.max)}
		}
	}
	return both
}

// finding is a step whose answers differ.
type finding struct {
	prefix      string
	steps       []step   // up to and with the one that differs
	answers     []string // what Kafka answered to each, in short
	differences []difference
}

// script shows a finding as the steps that lead to it.
func (f finding) script() string {
	var b strings.Builder
	for i, s := range f.steps {
		fmt.Fprintf(&b, "  %2d  %s", i+1, strings.ReplaceAll(s.text, f.prefix, ""))
		if i < len(f.answers) {
			b.WriteString(f.answers[i])
		}
		b.WriteByte('\n')
	}
	for _, d := range f.differences[:min(8, len(f.differences))] {
		fmt.Fprintf(&b, "    %s\n", d)
	}
	if more := len(f.differences) - 8; more > 0 {
		fmt.Fprintf(&b, "    and %d more lines\n", more)
	}
	return b.String()
}

// last is the step that differs.
func (f finding) last() step { return f.steps[len(f.steps)-1] }

// signature tells findings apart: the request and the paths that differ.
func (f finding) signature() string {
	request, _, _ := strings.Cut(f.last().text, " ")
	var parts []string
	for _, d := range f.differences {
		parts = append(parts, fmt.Sprintf("%s: %s / %s", withoutNames(d.path), d.kafka, d.target))
	}
	return request + " " + strings.Join(parts, "; ")
}

// withoutNames takes the element names out of a path.
func withoutNames(path string) string {
	var b strings.Builder
	depth := 0
	for _, r := range path {
		switch {
		case r == '[':
			depth++
		case r == ']':
			depth--
		case depth == 0:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// runCase does the steps on both sides until one differs. It returns nil when
// none does.
func (p *pair) runCase(prefix string, steps []step) (*finding, error) {
	p.forget(prefix)
	p.skipped = nil
	var answers []string
	for i, s := range steps {
		p.reached = i + 1
		exchanges, err := p.do(s)
		if err != nil {
			return nil, fmt.Errorf("step %d: %w\n%s", i+1, err, finding{prefix: prefix, steps: steps[:i+1]}.script())
		}
		answers = append(answers, inShort(exchanges))
		if len(exchanges) > 0 {
			p.steps++
			p.count(exchanges)
		} else if s.request != nil {
			p.skipped = append(p.skipped, s.text)
		}
		differences, diverged := p.differences(exchanges)
		if len(differences) > 0 {
			return &finding{prefix: prefix, steps: append([]step(nil), steps[:i+1]...), answers: answers, differences: differences}, nil
		}
		if diverged {
			return nil, nil
		}
	}
	return nil, nil
}

// inShort is what Kafka's answers say of errors and of groups.
func inShort(exchanges []exchange) string {
	var b strings.Builder
	for _, e := range exchanges {
		b.WriteString(" →")
		for _, line := range e.kafka.lines {
			_, field, _ := strings.Cut(line, ".")
			path, value, _ := strings.Cut(field, " = ")
			switch path[strings.LastIndexByte(path, '.')+1:] {
			case "ErrorCode":
				b.WriteString(" " + value)
			case "Generation", "State":
				b.WriteString(" (" + value + ")")
			}
		}
	}
	return b.String()
}

// count keeps what Kafka answered to which request, to show how far cases get.
func (p *pair) count(exchanges []exchange) {
	for _, e := range exchanges {
		request, _, _ := strings.Cut(e.step.text, " ")
		if p.trace != nil {
			p.trace("%s\n        %s", e.step.text, strings.Join(e.kafka.lines, "\n        "))
		}
		for _, line := range e.kafka.lines {
			if _, code, ok := strings.Cut(line, "ErrorCode = "); ok {
				p.seen[request+" "+code]++
			}
		}
	}
}

// forget begins a new case on both sides.
func (p *pair) forget(prefix string) {
	p.kafka.forget(prefix)
	p.target.forget(prefix)
	for _, f := range p.flights {
		f.land()
	}
	p.flights = nil
}

// differences are those that are not wanted, and whether the sides are unlike
// from here on for reasons that are.
func (p *pair) differences(exchanges []exchange) (left []difference, diverged bool) {
	if p.choseFreely(exchanges) {
		p.free++
		return nil, true
	}
	for _, e := range exchanges {
		differences, unlike := p.notAllowed(e.step, compare(e.kafka.lines, e.target.lines))
		diverged = diverged || unlike
		for _, d := range differences {
			if e.later {
				d.path = "answer to " + e.step.text + ": " + d.path
			}
			left = append(left, d)
		}
	}
	return left, diverged
}

// both does one step on both sides at once.
func (p *pair) both(s step) (kafka, target outcome) {
	done := make(chan outcome, 1)
	go func() { done <- s.run(p.kafka) }()
	target = s.run(p.target)
	return <-done, target
}

// minimise leaves out steps as long as the same difference remains. remake
// gives the steps anew, with topic names that were not used before, for the
// names of a case can be used only once.
func (p *pair) minimise(f *finding, remake func(keep []bool) (string, []step), total int, patience time.Duration) *finding {
	deadline := time.Now().Add(patience)
	keep := make([]bool, total)
	for i := range keep {
		keep[i] = i < len(f.steps)
	}
	best := f
	for i := len(f.steps) - 2; i >= 0 && time.Now().Before(deadline); i-- {
		keep[i] = false
		smaller, err := p.runCase(remake(keep))
		if err != nil || smaller == nil || smaller.signature() != f.signature() {
			keep[i] = true
			continue
		}
		best = smaller
	}
	return best
}
