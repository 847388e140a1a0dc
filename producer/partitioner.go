package producer

import "github.com/twmb/franz-go/pkg/kgo"

// Partitioner chooses the partition of each record. It is franz-go's, so that any of its partitioners, and your own, will do.
type Partitioner = kgo.Partitioner

// stickyBytes is how much goes to one partition before records without a key go on to the next.
const stickyBytes = 64 << 10

// Uniform is Kafka's: a record with a key, an empty one included, goes where the murmur2 hash of the key says among all partitions, as it does
// from Kafka's own producers; records without one (nil) fill batches of a partition at a time, chosen at random, those less that have
// much waiting (KIP-480, KIP-794).
func Uniform() Partitioner { return kgo.UniformBytesPartitioner(stickyBytes, true, true, nil) }

// Manual takes Record.Partition as it is. A record that names one which the topic has not fails.
func Manual() Partitioner { return kgo.ManualPartitioner() }

// RoundRobin goes through the partitions that can be written to, record by record.
func RoundRobin() Partitioner { return kgo.RoundRobinPartitioner() }

// PartitionBy has choose say where a record goes, among the number of the topic's partitions: 0 to partitions-1. It is called by whoever
// sends, for one record of a topic at a time.
func PartitionBy(choose func(r *Record, partitions int) int) Partitioner {
	return kgo.BasicConsistentPartitioner(func(string) func(*Record, int) int { return choose })
}
