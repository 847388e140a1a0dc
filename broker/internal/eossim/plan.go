package eossim

import (
	"math/rand/v2"
	"time"

	"github.com/skeinstream/skein/broker/internal/eossim/history"
)

// plan is the kind of world that a seed makes.
type plan struct {
	calm    time.Duration // when faults end
	crashes int
	full    bool          // the disk is, now and then
	down    time.Duration // how long there is no broker at most
	slow    time.Duration // a sync of the log
	delay   time.Duration // each way through the network
	lag     time.Duration // a request that comes late
	loss    float64       // a quarter of the share of requests that something happens to
	direct  string        // skein.wal.direct.bytes
	rolls   bool          // segments are short, and those of coordinators are compacted all the time
	seal    bool          // small log files, so that they are rolled and checkpoints are made
}

func newPlan(dice *rand.Rand) *plan {
	return &plan{
		calm:    4*time.Second + time.Duration(dice.Int64N(int64(4*time.Second))),
		crashes: dice.IntN(4),
		down:    time.Duration(1 + dice.Int64N(int64(time.Second))),
		slow:    []time.Duration{100 * time.Microsecond, time.Millisecond, 4 * time.Millisecond, 20 * time.Millisecond}[dice.IntN(4)],
		delay:   []time.Duration{time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond}[dice.IntN(3)],
		lag:     []time.Duration{100 * time.Millisecond, 600 * time.Millisecond, lagMax}[dice.IntN(3)],
		loss:    []float64{0, 0.005, 0.02, 0.04}[dice.IntN(4)],
		direct:  []string{"400", "1500", "65536"}[dice.IntN(3)],
		seal:    dice.IntN(2) == 0,
		full:    dice.IntN(4) == 0,
		rolls:   dice.IntN(3) == 0,
	}
}

// settings are those of the broker: few partitions and short times.
func (p *plan) settings() map[string]string {
	s := map[string]string{
		"connections.max.idle.ms":                                     "-1",
		"auto.create.topics.enable":                                   "false",
		"offsets.topic.num.partitions":                                "2",
		"transaction.state.log.num.partitions":                        "2",
		"group.initial.rebalance.delay.ms":                            "0",
		"group.min.session.timeout.ms":                                "500",
		"skein.wal.direct.bytes":                                      p.direct,
		"transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
	}
	if p.rolls {
		s["log.roll.ms"], s["log.cleaner.backoff.ms"], s["log.cleaner.min.cleanable.ratio"] = "700", "300", "0.01"
		s["log.cleaner.delete.retention.ms"], s["log.cleaner.max.compaction.lag.ms"] = "500", "1000"
	}
	if p.seal {
		s["skein.wal.bytes"], s["skein.wal.file.bytes"] = "1048576", "65536"
	}
	return s
}

func inputs() []history.Partition {
	return []history.Partition{{Topic: "in", Index: 0}, {Topic: "in", Index: 1}}
}

func outputs() []history.Partition {
	return []history.Partition{{Topic: "out", Index: 0}, {Topic: "out", Index: 1}}
}

func sides() []history.Partition { return []history.Partition{{Topic: "side", Index: 0}} }

// What comes late, and how long transactions may take.
const (
	lagMax     = 3 * time.Second
	timeoutMax = 6 * time.Second
)

// timeouts are those of transactions.
func timeouts(dice *rand.Rand) time.Duration {
	return []time.Duration{700 * time.Millisecond, 2 * time.Second, timeoutMax}[dice.IntN(3)]
}

// slack is how long the broker may take to abort what is out of time: the round trips of the abort and a slow disk. A
// restarted broker has to load its coordinators first.
const slack = 3 * time.Second
