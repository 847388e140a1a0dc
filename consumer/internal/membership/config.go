package membership

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/skeinstream/skein/assign"
	"github.com/skeinstream/skein/internal/roster"
)

// Config is who the member is. Its zero value, with a Group, runs.
type Config struct {
	Group string
	// InstanceID is group.instance.id: a member that has one is static (KIP-345). At most 249 characters.
	InstanceID string
	// Rack is client.rack, "" for none.
	Rack string
	// Assignors are what the member offers, the preferred one first; none is cooperative-sticky, then range (KIP-726).
	Assignors []assign.Assignor
	// Known are assignors that the member may offer, too, when it finds a group that runs nothing else; nil is all of
	// package assign that Kafka has. They are not used with StrictAssignors.
	Known           []assign.Assignor
	StrictAssignors bool
	// Static keeps the highest protocol that all Assignors support for ever, as Kafka's consumers do (R-B1).
	Static bool
	// SessionTimeout is after how long without a heartbeat the broker gives the member up; 0 is 45 s.
	SessionTimeout time.Duration
	// PollInterval is max.poll.interval.ms: how long the user may take between two polls, and how long others wait for this
	// member in a rebalance; 0 is 5 min.
	PollInterval time.Duration
	// HeartbeatInterval is how often the broker is told that the member lives; 0 is 3 s, or a third of a SessionTimeout that is
	// shorter than 9 s. It is less than SessionTimeout.
	HeartbeatInterval time.Duration
	// FirstHeartbeat is how soon after the begin of a generation the first one is sent; the pauses double from there up to
	// HeartbeatInterval, which is the most that counts here. 0 is 10 ms.
	FirstHeartbeat time.Duration
	// UpgradeRounds is cooperative.upgrade.min.rounds: after how many rounds in a row that selected an assignor which supports
	// COOPERATIVE the member goes over to it. More than 1, which 0 stands for, keeps a group that is bounced back and forth from
	// changing its protocol with each bounce (R-C11).
	UpgradeRounds int
	// Publish is shown to the leaders of the group with each JoinGroup, and to some other members (package roster): at most roster.Longest bytes.
	// Nil is nothing.
	Publish []byte
	// RetryMin and RetryMax bound the wait before a request is sent again; 0 is 100 ms and 1 s.
	RetryMin, RetryMax time.Duration
	// StayOnClose leaves the group to find out by itself that the member is gone. A static member always does.
	StayOnClose bool
}

// Errors of a configuration.
var (
	ErrNoGroup           = errors.New("a member needs the name of its group")
	ErrNoCommonProtocol  = errors.New("the assignors have no protocol in common")
	ErrDuplicateAssignor = errors.New("two assignors have one name")
	ErrHeartbeat         = errors.New("a member has to be heard of more often than its session ends")
	ErrNegative          = errors.New("it cannot be negative")
	ErrPublish           = fmt.Errorf("a member publishes at most %d bytes", roster.Longest)
	ErrInstanceID        = errors.New("a group.instance.id has 1 to 249 of the characters a-z, A-Z, 0-9, '.', '_' and '-'")
)

const longestInstanceID = 249

func (c Config) withDefaults() Config {
	if len(c.Assignors) == 0 {
		c.Assignors = []assign.Assignor{assign.CooperativeSticky{}, assign.Range{}}
	}
	if c.Known == nil {
		c.Known = []assign.Assignor{assign.CooperativeSticky{}, assign.Range{}, assign.RoundRobin{}, assign.Sticky{}}
	}
	if c.StrictAssignors {
		c.Known = nil
	}
	c.SessionTimeout = cmp.Or(c.SessionTimeout, 45*time.Second)
	c.PollInterval = cmp.Or(c.PollInterval, 5*time.Minute)
	c.HeartbeatInterval = cmp.Or(c.HeartbeatInterval, min(3*time.Second, c.SessionTimeout/3))
	c.FirstHeartbeat = min(cmp.Or(c.FirstHeartbeat, 10*time.Millisecond), c.HeartbeatInterval)
	c.UpgradeRounds = cmp.Or(c.UpgradeRounds, 1)
	c.RetryMin = cmp.Or(c.RetryMin, 100*time.Millisecond)
	c.RetryMax = max(c.RetryMin, cmp.Or(c.RetryMax, time.Second))
	return c
}

func (c Config) check() error {
	if c.Group == "" {
		return ErrNoGroup
	}
	seen := map[string]bool{}
	for _, a := range c.Assignors {
		if seen[a.Name()] {
			return fmt.Errorf("assignor %q: %w: take one of them out", a.Name(), ErrDuplicateAssignor)
		}
		seen[a.Name()] = true
	}
	if c.InstanceID != "" && !legal(c.InstanceID) {
		return fmt.Errorf("group.instance.id %q: %w", c.InstanceID, ErrInstanceID)
	}
	if len(c.Publish) > roster.Longest {
		return fmt.Errorf("publishing %d bytes: %w", len(c.Publish), ErrPublish)
	}
	if err := c.checkTimes(); err != nil {
		return err
	}
	if c.Static && !c.supportedByAll(assign.Eager) && !c.supportedByAll(assign.Cooperative) {
		return fmt.Errorf("assignors %s: %w: take some out", namesOf(c.Assignors), ErrNoCommonProtocol)
	}
	return nil
}

func (c Config) checkTimes() error {
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"session timeout", c.SessionTimeout}, {"poll interval", c.PollInterval}, {"heartbeat interval", c.HeartbeatInterval},
		{"pause before the first heartbeat", c.FirstHeartbeat},
		{"shortest wait before a retry", c.RetryMin}, {"number of rounds before an upgrade", time.Duration(c.UpgradeRounds)},
	} {
		if d.value < 0 {
			return fmt.Errorf("the %s: %w", d.name, ErrNegative)
		}
	}
	if c.HeartbeatInterval >= c.SessionTimeout {
		return fmt.Errorf("heartbeats every %v for a session of %v: %w: choose a third of the session timeout", c.HeartbeatInterval, c.SessionTimeout, ErrHeartbeat)
	}
	return nil
}

// supportedByAll says that every assignor supports a protocol.
func (c Config) supportedByAll(p assign.Protocol) bool {
	return !slices.ContainsFunc(c.Assignors, func(a assign.Assignor) bool { return !supports(a, p) })
}

func supports(a assign.Assignor, p assign.Protocol) bool { return slices.Contains(a.Protocols(), p) }

func namesOf(list []assign.Assignor) (names []string) {
	for _, a := range list {
		names = append(names, a.Name())
	}
	return names
}

func find(list []assign.Assignor, name string) assign.Assignor {
	for _, a := range list {
		if a.Name() == name {
			return a
		}
	}
	return nil
}

func legal(name string) bool {
	if name == "." || name == ".." || len(name) > longestInstanceID {
		return false
	}
	for _, r := range name {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '.' && r != '_' && r != '-' {
			return false
		}
	}
	return true
}
