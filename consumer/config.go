package consumer

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/skeinstream/skein/assign"
	"github.com/skeinstream/skein/client"
	"github.com/skeinstream/skein/consumer/internal/membership"
)

// Config is how a consumer behaves. Its zero value, with a Group, runs; without one, partitions are assigned by hand. Times are a millisecond or
// more; New refuses what is less, and whatever else cannot be.
type Config struct {
	// Cluster is where the brokers are, and who comes to them.
	Cluster client.Config
	// Group is group.id: the consumer group to be a member of, or whose offsets are read and committed by who assigns partitions by hand. "" is
	// none.
	Group string
	// InstanceID is group.instance.id: a member that has one keeps its partitions over a restart (KIP-345). It is unique in the group, and has at most
	// 249 of the characters a-z, A-Z, 0-9, '.', '_' and '-'.
	InstanceID string
	// Rack is client.rack: assignors prefer partitions of it, and records are fetched from a replica in it (KIP-392, KIP-881).
	Rack string
	// Assignors are what the member offers, the preferred one first; none is cooperative-sticky, then range.
	Assignors []assign.Assignor
	// StrictAssignors has the member fail in a group that runs none of its Assignors, instead of offering what the group runs.
	StrictAssignors bool
	// StaticProtocol keeps one rebalance protocol for the consumer's life, as Kafka's own consumers do (R-B1).
	StaticProtocol bool
	// UpgradeRounds is after how many rebalances in a row that would allow it the member becomes COOPERATIVE; 0 is 1. More keep a group
	// that is bounced back and forth from changing its protocol with each bounce (R-C11). It does nothing with StaticProtocol.
	UpgradeRounds int
	// SessionTimeout is session.timeout.ms: after how long without a heartbeat the group gives the member up; 0 is 45 s. The broker's
	// group.min.session.timeout.ms and group.max.session.timeout.ms (6 s and 30 min) bound it.
	SessionTimeout time.Duration
	// HeartbeatInterval is heartbeat.interval.ms: how often it is told that the member lives; 0 is 3 s, or a third of a SessionTimeout that is shorter
	// than 9 s. It is less than SessionTimeout. After a rebalance heartbeats are closer together for a while.
	HeartbeatInterval time.Duration
	// PollInterval is max.poll.interval.ms: how long may pass between two polls, and how long a rebalance waits for a member; 0 is 5 min.
	PollInterval time.Duration
	// ReadCommitted hides records of transactions that are open or aborted (isolation.level), and waits for a transaction that is to decide where to
	// begin (KIP-447). Brokers before Kafka 2.5 know no such wait: the log says so.
	ReadCommitted bool
	// Reset is auto.offset.reset: where to begin without a committed offset, and where to go on when the log ends before the position; the zero
	// value is Latest. A position that retention has overtaken goes on at the start of the log, unless Reset is None (FR-F9).
	Reset Reset
	// NewPartitionsFromReset applies Reset to partitions which appear while the group runs, too. By default they are read from their
	// start, so that nothing is skipped which was written before the group has found them.
	NewPartitionsFromReset bool
	// ManualCommit leaves all commits to the user. By default what earlier polls handed out is committed every AutoCommitInterval, and
	// before a partition is given up.
	ManualCommit bool
	// AutoCommitInterval is auto.commit.interval.ms; 0 is 5 s.
	AutoCommitInterval time.Duration
	// Publish is shown to whoever leads the group, with that of the other members: Hooks.Roster. It is opaque, at most 64 bytes long, and the same
	// for the life of the consumer. It travels behind what assignors write of themselves, under cooperative-sticky, range, roundrobin and those
	// of package assign that are not Kafka's; clients of other kinds pass over it. Nil is nothing.
	Publish []byte
	// Listener is told of partitions that come and go.
	Listener Listener
	// Hooks are told what a dashboard or a test wants to know.
	Hooks Hooks
	// MaxPollRecords is max.poll.records, the most that one Poll hands out; 0 is 500, less than 0 is all there is. What was fetched beyond it is kept
	// for the next ones, while more is fetched.
	MaxPollRecords int
	// MetadataMaxAge is metadata.max.age.ms: how often topics are looked at, for partitions that are new, and for topics that match a pattern; 0 is
	// 1 min (Kafka's consumers: 5 min).
	MetadataMaxAge time.Duration
	// Logger hears of each rebalance and of what goes wrong; nil is Cluster.Logger.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	c.AutoCommitInterval = cmp.Or(c.AutoCommitInterval, 5*time.Second)
	c.SessionTimeout = cmp.Or(c.SessionTimeout, 45*time.Second)
	c.HeartbeatInterval = cmp.Or(c.HeartbeatInterval, min(3*time.Second, c.SessionTimeout/3))
	c.PollInterval = cmp.Or(c.PollInterval, 5*time.Minute)
	c.MaxPollRecords = cmp.Or(c.MaxPollRecords, 500)
	c.MetadataMaxAge = cmp.Or(c.MetadataMaxAge, time.Minute)
	c.Logger = cmp.Or(c.Logger, c.Cluster.Logger, slog.New(slog.DiscardHandler))
	return c
}

func (c Config) check() error {
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"SessionTimeout", c.SessionTimeout}, {"HeartbeatInterval", c.HeartbeatInterval}, {"PollInterval", c.PollInterval},
		{"AutoCommitInterval", c.AutoCommitInterval}, {"MetadataMaxAge", c.MetadataMaxAge},
	} {
		if d.value < time.Millisecond {
			return fmt.Errorf("%s is %v: choose a millisecond or more", d.name, d.value)
		}
	}
	if c.HeartbeatInterval >= c.SessionTimeout {
		return fmt.Errorf("HeartbeatInterval %v leaves no time within SessionTimeout %v: a third of it is usual", c.HeartbeatInterval, c.SessionTimeout)
	}
	if slices.Contains(c.Assignors, nil) {
		return errors.New("one of the Assignors is nil: leave it out")
	}
	if c.Group == "" && c.InstanceID != "" {
		return errors.New("InstanceID is of a group's member: set Group, too")
	}
	return c.Reset.Check()
}

func (c Config) member() membership.Config {
	return membership.Config{
		Group: c.Group, InstanceID: c.InstanceID, Rack: c.Rack,
		Assignors: c.Assignors, StrictAssignors: c.StrictAssignors, Static: c.StaticProtocol,
		SessionTimeout: c.SessionTimeout, PollInterval: c.PollInterval, HeartbeatInterval: c.HeartbeatInterval, UpgradeRounds: c.UpgradeRounds,
		Publish: c.Publish,
	}
}

// machine is the member; without a group, one that is never told to subscribe.
func (c Config) machine() (*membership.Machine, error) {
	member := c.member()
	member.Group = cmp.Or(member.Group, "none")
	return membership.New(member)
}

func (c Config) kgoOptions() []kgo.Opt {
	versions := kversion.Stable()
	versions.SetMaxKeyVersion(int16(kmsg.OffsetCommit), 9) // newer ones name topics by ids (KIP-848)
	opts := []kgo.Opt{
		kgo.MaxVersions(versions),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()), // resets are ours: reset.go
		kgo.KeepControlRecords(),                    // positions pass over them: batch.go
		kgo.KeepRetryableFetchErrors(),              // else it asks for a topic that is gone without a pause: trouble.go
		kgo.RetryTimeoutFn(c.retryTimeout),
		kgo.FetchMaxWait(fetchMaxWait),
		kgo.MetadataMaxAge(c.MetadataMaxAge),
		kgo.MetadataMinAge(min(c.MetadataMaxAge, metadataMinAge)),
	}
	if c.ReadCommitted {
		opts = append(opts, kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	}
	if c.Rack != "" {
		opts = append(opts, kgo.Rack(c.Rack))
	}
	return append(opts, c.Cluster.KgoOptions()...)
}

// retryTimeout is for how long franz-go tries to get an answer by itself: those of the group come in time, or not at all.
func (c Config) retryTimeout(key int16) time.Duration {
	switch key {
	case int16(kmsg.JoinGroup), int16(kmsg.SyncGroup), int16(kmsg.Heartbeat):
		return c.SessionTimeout
	}
	return 30 * time.Second
}

// metadataMinAge is how soon metadata that turn out to be wrong are asked for again.
const metadataMinAge = 250 * time.Millisecond

// fetchMaxWait is Kafka's fetch.max.wait.ms: how long a broker waits for records. What is new to read, by a rebalance, a Seek or a Resume,
// waits behind that, since a connection has one fetch at a time.
const fetchMaxWait = 500 * time.Millisecond
