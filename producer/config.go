package producer

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/skeinstream/skein/client"
)

// Config is how a producer behaves. Its zero value runs.
type Config struct {
	Cluster client.Config
	// Partitioner chooses partitions; nil is Uniform.
	Partitioner Partitioner
	// Codec compresses batches; the zero value is NoCodec, as with Kafka.
	Codec Codec
	// Linger is how long a record may wait for others of its batch, up to a minute; 0 is 5 ms (KIP-1030), less is not at all.
	Linger time.Duration
	// BatchBytes is the most that a batch holds before it is compressed, 1,024 or more; 0 is 1,000,012, which every broker takes that was not told
	// otherwise (max.message.bytes).
	BatchBytes int
	// MaxBufferedRecords and MaxBufferedBytes bound what is kept of records that have no answer yet, and Send waits for room. 0 is 50,000, and
	// 32 MiB of keys, values and headers (buffer.memory). With room for few, requests are small: with 10,000 of 1 KiB they were half as large,
	// and copying took a fifth longer.
	MaxBufferedRecords, MaxBufferedBytes int
	// DeliveryTimeout is for how long a record is tried to be written, a second or more; 0 is 120 s (delivery.timeout.ms). Within a transaction a
	// record that is on its way is waited for.
	DeliveryTimeout time.Duration
	// MaxBlock bounds the calls of a transaction, and Fence, where their context has no deadline, a millisecond or more; 0 is 60 s
	// (max.block.ms).
	MaxBlock time.Duration
	// Acks is whose word for a record counts; the zero value is AllAcks. With less a producer is not idempotent, and has no transactions.
	Acks Acks
	// TransactionalID is transactional.id, which one live producer may have at a time: the newest fences the others. "" is no transactions.
	TransactionalID string
	// TransactionTimeout is after how long the broker aborts a transaction that was not ended, a millisecond or more; 0 is 60 s, the most is the
	// broker's transaction.max.timeout.ms.
	TransactionTimeout time.Duration
	// Group is the consumer group whose offsets the transactions will commit. If it is set, the first Begin finds out whether the cluster can
	// fence them by the group's generation, before any record moves (R-F5).
	Group string
	// UpgradeFrom is the release of the oldest broker, "0.11" to "2.4": brokers that know no generations in transactions are accepted then, and
	// only the transactional id fences what they are sent; newer ones are told the generations all the same (R-F13). "" refuses old brokers.
	UpgradeFrom string
	Hooks       Hooks
	// Logger hears of recoveries, and of records that were lost without anybody listening; nil is Cluster.Logger.
	Logger *slog.Logger
}

// Acks is whose word for a record counts.
type Acks int8

const (
	AllAcks   Acks = iota // all replicas that are in sync
	LeaderAck             // the leader has it
	NoAcks                // nobody is asked: offsets are unknown, and losses, too
)

func (c Config) withDefaults() Config {
	c.Linger = max(cmp.Or(c.Linger, 5*time.Millisecond), 0)
	c.BatchBytes = cmp.Or(c.BatchBytes, 1_000_012)
	c.MaxBufferedRecords = cmp.Or(c.MaxBufferedRecords, 50_000)
	c.MaxBufferedBytes = cmp.Or(c.MaxBufferedBytes, 32<<20)
	c.DeliveryTimeout = cmp.Or(c.DeliveryTimeout, 120*time.Second)
	c.MaxBlock = cmp.Or(c.MaxBlock, time.Minute)
	c.TransactionTimeout = cmp.Or(c.TransactionTimeout, time.Minute)
	c.Logger = cmp.Or(c.Logger, c.Cluster.Logger, slog.New(slog.DiscardHandler))
	if c.Partitioner == nil {
		c.Partitioner = Uniform()
	}
	return c
}

// Check says what New would refuse.
func (c Config) Check() error { return c.withDefaults().check() }

func (c Config) check() error {
	for _, n := range []struct {
		name      string
		value     int
		low, high int
	}{
		{"BatchBytes", c.BatchBytes, 1024, math.MaxInt32 / 2}, {"MaxBufferedRecords", c.MaxBufferedRecords, 1, math.MaxInt32},
		{"MaxBufferedBytes", c.MaxBufferedBytes, 1, math.MaxInt},
	} {
		if n.value < n.low || n.value > n.high {
			return fmt.Errorf("%s is %d: choose %d to %d", n.name, n.value, n.low, n.high)
		}
	}
	switch {
	case c.Linger > time.Minute:
		return fmt.Errorf("a Linger of %v is too long: choose a minute or less", c.Linger)
	case c.DeliveryTimeout < time.Second:
		return fmt.Errorf("DeliveryTimeout is %v: choose a second or more", c.DeliveryTimeout)
	case c.MaxBlock < time.Millisecond:
		return fmt.Errorf("MaxBlock is %v: choose a millisecond or more", c.MaxBlock)
	case c.TransactionTimeout < time.Millisecond || c.TransactionTimeout.Milliseconds() > math.MaxInt32:
		return fmt.Errorf("TransactionTimeout is %v: choose a millisecond to 596 h", c.TransactionTimeout)
	case c.Acks < AllAcks || c.Acks > NoAcks:
		return fmt.Errorf("there are no Acks %d: choose AllAcks, LeaderAck or NoAcks", c.Acks)
	case c.TransactionalID != "" && c.Acks != AllAcks:
		return errors.New("transactions need AllAcks: leave Acks out")
	case c.TransactionalID == "" && c.Group != "":
		return errors.New("offsets of a group are committed in transactions: set TransactionalID, too, or leave Group out")
	}
	return c.Codec.check()
}

// kgoOptions are those of a client, of which there may be several one after the other.
func (c Config) kgoOptions() []kgo.Opt {
	versions := kversion.Stable()
	versions.SetMaxKeyVersion(int16(kmsg.TxnOffsetCommit), 5) // newer ones name topics by ids (KIP-1319)
	opts := []kgo.Opt{
		kgo.MaxVersions(versions),
		kgo.RecordPartitioner(c.Partitioner),
		kgo.ProducerBatchCompression(c.Codec.kgo()),
		kgo.ProducerLinger(c.Linger),
		kgo.ProducerBatchMaxBytes(int32(c.BatchBytes)),
		kgo.MaxBufferedRecords(2*c.MaxBufferedRecords + 1000), // the bound is ours: budget.go
		kgo.RecordDeliveryTimeout(c.DeliveryTimeout),
		kgo.RetryTimeoutFn(retryTimeout),
		kgo.MetadataMinAge(metadataMinAge),
	}
	switch {
	case c.TransactionalID != "":
		opts = append(opts, kgo.TransactionalID(c.TransactionalID), kgo.TransactionTimeout(c.TransactionTimeout))
	case c.Acks == AllAcks:
		opts = append(opts, kgo.AllowIdempotentProduceCancellation()) // a delivery timeout is one
	case c.Acks == LeaderAck:
		opts = append(opts, kgo.DisableIdempotentWrite(), kgo.RequiredAcks(kgo.LeaderAck()))
	default:
		opts = append(opts, kgo.DisableIdempotentWrite(), kgo.RequiredAcks(kgo.NoAck()))
	}
	return append(opts, c.cluster().KgoOptions()...)
}

// retryTimeout is for how long franz-go tries to get an answer by itself. An EndTxn is sent once: what a lost answer means is decided by
// the machine.
func retryTimeout(key int16) time.Duration {
	if key == int16(kmsg.EndTxn) {
		return time.Nanosecond
	}
	return 30 * time.Second
}

// metadataMinAge is how soon metadata that turn out to be wrong are asked for again.
const metadataMinAge = 250 * time.Millisecond
