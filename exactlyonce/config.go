package exactlyonce

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"time"

	"github.com/skeinstream/skein/client"
	"github.com/skeinstream/skein/consumer"
	"github.com/skeinstream/skein/internal/work"
	"github.com/skeinstream/skein/producer"
)

// Config is what a Processor does. Consumer.Group, and Topics or Pattern, are needed.
type Config struct {
	// Consumer is its consumer's. ReadCommitted and ManualCommit are forced. Its Listener is called after what has to be done with
	// partitions that go, and before what has to be done with those that come.
	Consumer consumer.Config
	// Topics are what is read, or those whose names Pattern matches: one of the two.
	Topics  []string
	Pattern *regexp.Regexp
	// Producer is its producer's. A Cluster that says nothing is the consumer's. TransactionalID "" is made of the group and Consumer.InstanceID, or
	// else a random one, which the group is told (docs/decision/0010-fencing-the-dead.md). TransactionTimeout 0 is 10 s. MaxBlock is for how long a
	// producer is tried to be made before another is, and DeliveryTimeout how long a topic may not be there before Run ends.
	Producer producer.Config
	// Interval is for how long records come into one transaction, which is how long their output is waited for; 0 is 100 ms, less than 0
	// is one transaction for each batch. It has to be shorter than Producer.TransactionTimeout.
	Interval time.Duration
	// MaxRecords bounds the records of a transaction; 0 is no bound.
	MaxRecords int
	// Concurrency is how many calls of the function there are at once, all in the same transaction; 0 is 1, with whole batches.
	Concurrency int
	// By says what a call is given when there are several. With OnePerPartition it is ByPartition, whatever it says.
	By By
	// Poison is what becomes of records that cannot be processed.
	Poison PoisonPolicy
	// Producers is OnePerMember, but for moving a program over from one producer for each partition, and back.
	Producers Producers
	// UpgradeFrom is the release of the oldest broker, "0.11" to "2.4", for OnePerPartition on brokers that cannot fence by generation. "" has such
	// brokers refused before anything is written.
	UpgradeFrom string
	// TransactionalIDPrefix is what the transactional ids of OnePerPartition begin with: "<prefix>-<topic>-<partition>"; "" is the group.
	TransactionalIDPrefix string
	// TransactionalIDOf names them in another way.
	TransactionalIDOf func(consumer.TopicPartition) string
	// PollError says whether an error of Poll ends Run: by what it returns; nil is to go on. Without one all do, after what was processed is
	// committed; consumer.ErrClosed does in any case.
	PollError func(error) error
	// DrainTimeout is how long Run takes to end at the most, once its context has: for what is being processed, for its transaction, and to
	// leave the group; 0 is 30 s.
	DrainTimeout time.Duration
	Hooks        Hooks
	// Logger hears one line for each change; nil is that of Consumer, or of its Cluster.
	Logger *slog.Logger
}

// By says which records a call of the function is given.
type By uint8

const (
	// ByPartition gives each call the records of one partition.
	ByPartition By = iota
	// ByKey gives all records of one key to the same call, in their order. Those without a key go to any.
	ByKey
)

// Producers says how many producers a member has.
type Producers uint8

const (
	// OnePerMember is one, whatever the number of partitions (KIP-447). It takes brokers of Kafka 2.5 or later.
	OnePerMember Producers = iota
	// OnePerPartition is one for each partition that is owned, as before KIP-447.
	OnePerPartition
)

func (c Config) withDefaults() Config {
	c.Logger = cmp.Or(c.Logger, c.Consumer.Logger, c.Consumer.Cluster.Logger, slog.New(slog.DiscardHandler))
	c.Consumer.Logger = cmp.Or(c.Consumer.Logger, c.Logger)
	c.Consumer.ReadCommitted, c.Consumer.ManualCommit = true, true
	c.Consumer.PollInterval = cmp.Or(c.Consumer.PollInterval, 5*time.Minute)
	if saysNothing(c.Producer.Cluster) {
		c.Producer.Cluster = c.Consumer.Cluster
	}
	c.Producer.Logger = cmp.Or(c.Producer.Logger, c.Logger)
	c.Producer.Group = c.Consumer.Group
	c.Producer.TransactionTimeout = cmp.Or(c.Producer.TransactionTimeout, 10*time.Second)
	c.Producer.MaxBlock = cmp.Or(c.Producer.MaxBlock, time.Minute)
	c.Producer.DeliveryTimeout = cmp.Or(c.Producer.DeliveryTimeout, 2*time.Minute)
	c.Interval = cmp.Or(c.Interval, 100*time.Millisecond)
	c.Concurrency = cmp.Or(c.Concurrency, 1)
	c.Poison.BackoffMax = cmp.Or(c.Poison.BackoffMax, 10*time.Second)
	if c.Producers == OnePerPartition {
		c.By = ByPartition // so that it is known which partition an output is of
	}
	c.DrainTimeout = cmp.Or(c.DrainTimeout, 30*time.Second)
	if c.PollError == nil {
		c.PollError = func(err error) error { return err }
	}
	return c
}

func saysNothing(c client.Config) bool {
	return len(c.Brokers) == 0 && c.Dial == nil && c.TLS == nil && c.SASL == nil && len(c.Options) == 0
}

func (c Config) check() error {
	switch {
	case c.Consumer.Group == "":
		return errors.New("there is no Consumer.Group: name one, its offsets are part of the transactions")
	case len(c.Topics) == 0 && c.Pattern == nil:
		return errors.New("there is nothing to read: set Topics, or Pattern")
	case len(c.Topics) > 0 && c.Pattern != nil:
		return errors.New("there are both Topics and a Pattern: choose one")
	case c.MaxRecords < 0:
		return fmt.Errorf("MaxRecords is %d: choose 1 or more, or 0 for no bound", c.MaxRecords)
	case c.Concurrency < 1:
		return fmt.Errorf("a Concurrency of %d: choose 1 or more, or 0 for 1", c.Concurrency)
	case c.By > ByKey:
		return fmt.Errorf("there is no By %d: choose ByPartition or ByKey", c.By)
	case c.Producers > OnePerPartition:
		return fmt.Errorf("there are no Producers %d: choose OnePerMember or OnePerPartition", c.Producers)
	case c.DrainTimeout < 0:
		return fmt.Errorf("DrainTimeout is %v: choose more than nothing, or 0 for 30 s", c.DrainTimeout)
	case c.Producer.TransactionTimeout < 0:
		return fmt.Errorf("Producer.TransactionTimeout is %v: choose more than Interval, or 0 for 10 s", c.Producer.TransactionTimeout)
	case c.Interval >= c.Producer.TransactionTimeout:
		return fmt.Errorf("an Interval of %v leaves a transaction no time within TransactionTimeout %v: a tenth of it is plenty", c.Interval, c.Producer.TransactionTimeout)
	case c.Consumer.Publish != nil && c.Producers == OnePerMember:
		return errors.New("there is a Consumer.Publish: leave it out, members publish what their dead are fenced by")
	case c.UpgradeFrom != "" && c.Producers != OnePerPartition:
		return errors.New("there is an UpgradeFrom: brokers before Kafka 2.5 need Producers: OnePerPartition, too")
	case (c.TransactionalIDPrefix != "" || c.TransactionalIDOf != nil) && c.Producers != OnePerPartition:
		return errors.New("TransactionalIDPrefix and TransactionalIDOf name the ids of Producers: OnePerPartition: set that, or leave them out")
	}
	return errors.Join(c.checkUpgradeFrom(), c.Poison.check(), c.checkProducer())
}

// checkProducer finds out now what would keep each producer from being made.
func (c Config) checkProducer() error {
	p := c.Producer
	p.TransactionalID = cmp.Or(p.TransactionalID, "yet to be made")
	if err := p.Check(); err != nil {
		return fmt.Errorf("in Producer: %w", err)
	}
	return nil
}

// work is what the machine is told.
func (c Config) work() work.Config {
	return work.Config{
		Interval: c.Interval, Records: c.MaxRecords, Timeout: c.Producer.TransactionTimeout, Renew: c.Producer.MaxBlock,
		Retries: c.Poison.Retries, Skip: c.Poison.DeadLetter != "",
		Backoff: c.Poison.Backoff, BackoffMax: c.Poison.BackoffMax,
	}
}
