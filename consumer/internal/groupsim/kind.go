package groupsim

import (
	"fmt"
	"strings"
	"time"

	"github.com/skeinstream/skein/assign"
	"github.com/skeinstream/skein/consumer/internal/membership"
)

// kind is what code a process runs, and with what list.
type kind struct {
	code byte // see doc.go
	list []string
}

func (k kind) String() string { return string(k.code) + "[" + strings.Join(k.list, ",") + "]" }

// is says that it is of one of the codes and offers exactly that list.
func (k kind) is(codes string, list ...string) bool {
	return strings.IndexByte(codes, k.code) >= 0 && strings.Join(k.list, ",") == strings.Join(list, ",")
}

func (k kind) offers(name string) bool {
	for _, n := range k.list {
		if n == name {
			return true
		}
	}
	return false
}

func (k kind) ours() bool { return k.code == 'D' || k.code == 'T' }

const (
	cs = "cooperative-sticky"
	rg = "range"
)

func parseKind(text string) (kind, error) {
	code, rest, _ := strings.Cut(text, "[")
	list, ok := strings.CutSuffix(rest, "]")
	if len(code) != 1 || !ok || !strings.Contains("DTOSFNCLK", code) {
		return kind{}, fmt.Errorf("%q is no member: D, T, O, S, F, N, C, L or K, and [names]", text)
	}
	k := kind{code: code[0], list: strings.Split(list, ",")}
	for _, name := range k.list {
		if assignorOf(name, k.code) == nil {
			return kind{}, fmt.Errorf("%q: there is no assignor %q", text, name)
		}
	}
	return k, nil
}

// uniform is the coordinator's assignor, which K offers nothing beside.
const uniform = "uniform"

// stream is an assignor whose old code is EAGER and whose new code is COOPERATIVE, under one name (R-C9).
const stream = "stream"

type streamOld struct{ assign.RoundRobin }

func (streamOld) Name() string { return stream }

type streamNew struct{ assign.CooperativeSticky }

func (streamNew) Name() string { return stream }

// streamGated is the new code while it is told that old members are still there: upgrade.from of Kafka Streams.
type streamGated struct{ streamNew }

func (streamGated) Protocols() []assign.Protocol { return []assign.Protocol{assign.Eager} }

// gated is how a script names it; its members say "stream".
const gated = "stream-gated"

func assignorOf(name string, code byte) assign.Assignor {
	for _, a := range []assign.Assignor{assign.CooperativeSticky{}, assign.Range{}, assign.RoundRobin{}, assign.Sticky{}, assign.Fair{}} {
		if a.Name() == name {
			return a
		}
	}
	switch {
	case name == uniform && code == 'K':
		return assign.CooperativeSticky{} // it stands for the coordinator's, which no member runs
	case name == stream && code == 'O':
		return streamOld{}
	case name == stream:
		return streamNew{}
	case name == gated:
		return streamGated{}
	}
	return nil
}

func (k kind) assignors() (list []assign.Assignor) {
	for _, name := range k.list {
		list = append(list, assignorOf(name, k.code))
	}
	return list
}

// The times of all members: short, so that what comes of them happens often.
const (
	session   = 6 * time.Second
	heartbeat = 2 * time.Second
	pollMax   = 12 * time.Second
)

// brain decides for one member; *membership.Machine does for ours.
type brain interface {
	Step(now time.Time, in membership.Input) membership.Output
	Tick(now time.Time) membership.Output
	Generation() membership.Generation
}

// spec is one process as the script starts it.
type spec struct {
	kind
	instance string
	topics   []string
	pattern  string // a prefix of topics' names, "" for none
	strict   bool
	rounds   int
}

// parseSpec reads what follows the name of a process.
func parseSpec(words []string, was spec) (spec, error) {
	s := was
	for _, w := range words {
		key, value, _ := strings.Cut(w, "=")
		switch key {
		case "topics":
			s.topics, s.pattern = strings.Split(value, ","), ""
		case "pattern":
			s.topics, s.pattern = nil, value
		case "instance":
			s.instance = value
		case "strict":
			s.strict = true
		case "rounds":
			if _, err := fmt.Sscan(value, &s.rounds); err != nil {
				return s, fmt.Errorf("%q: %w", w, err)
			}
		default:
			k, err := parseKind(w)
			if err != nil {
				return s, err
			}
			s.kind = k
		}
	}
	return s, nil
}

// brain is that of a new consumer, which may choose a name for itself.
func (s spec) brain(name string) (brain, error) {
	switch {
	case s.code == 'K':
		return newServed(s, name), nil
	case !s.ours():
		return newForeign(s), nil
	}
	return membership.New(membership.Config{
		Group: groupName, InstanceID: s.instance, Assignors: s.assignors(), StrictAssignors: s.strict, Static: s.code == 'T',
		SessionTimeout: session, PollInterval: pollMax, HeartbeatInterval: heartbeat, UpgradeRounds: s.rounds,
	})
}

const groupName = "g"
