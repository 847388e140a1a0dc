// Package result holds what a comparison found: the peers, the rows, the
// numbers, what the project asks of itself in each row, and how all that is
// written down. It is pure.
package result

import "fmt"

// Peer names one broker in one mode.
type Peer string

// The peers, in the order of the table's columns.
const (
	Skein     Peer = "skein"      // as it comes: acknowledged is synced
	SkeinOS   Peer = "skein-os"   // skein.durability=os: acknowledged is in the page cache
	Kafka     Peer = "kafka"      // as it comes: syncs nothing
	KafkaSync Peer = "kafka-sync" // log.flush.interval.messages=1
	Kfake     Peer = "kfake"      // in memory
	KfakeSync Peer = "kfake-sync" // DataDir and SyncWrites
)

// Peers are all of them in the order of the table.
func Peers() []Peer { return []Peer{Skein, SkeinOS, Kafka, KafkaSync, Kfake, KfakeSync} }

// Title is how the table calls a peer.
func (p Peer) Title() string {
	switch p {
	case Skein:
		return "Skein"
	case SkeinOS:
		return "Skein, `os`"
	case Kafka:
		return "Kafka"
	case KafkaSync:
		return "Kafka, synced"
	case Kfake:
		return "kfake, memory"
	case KfakeSync:
		return "kfake, synced"
	}
	return string(p)
}

// Kind is what a row measures; the bars hang on it.
type Kind int

// Kinds of rows.
const (
	Start Kind = iota
	MemoryIdle
	MemoryLoaded
	ProduceRate
	ProduceCPU
	ConsumeRate
	ConsumeCPU
	ProduceMedian
	ProduceP99
	ProduceP999
	EndToEnd
	CommitRate // of offsets
	CommitCPU
	HeartbeatCPU
	StormTime
	StormGenerations
	StormCPU
	TxnRate
	Txn1Rate // with one producer
	Txn8Rate // with eight
	TxnCPU
	TxnCommitMedian
	TxnCommitP99
	TxnShare
)

// More tells whether a greater number is the better one.
func (k Kind) More() bool {
	switch k {
	case ProduceRate, ConsumeRate, CommitRate, TxnRate, Txn1Rate, Txn8Rate, TxnShare:
		return true
	}
	return false
}

// Row is one line of the table.
type Row struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Unit  string `json:"unit"`
	Kind  Kind   `json:"-"`
}

// Identifiers of the rows that stand alone.
const (
	StartID        = "start"
	MemoryIdleID   = "memory-idle"
	MemoryLoadedID = "memory-loaded"
)

// Client is a client as the rows call it.
type Client struct {
	ID    string
	Title string
}

// The clients of the throughput rows.
func clients() (plain, snappy, java, librdkafka Client) {
	return Client{"go", "franz-go"}, Client{"go-snappy", "franz-go, snappy"}, Client{"java", "Java"}, Client{"librdkafka", "librdkafka"}
}

// Sizes are the record sizes in bytes.
func Sizes() []int { return []int{100, 1024} }

// SizeTitle is a record size in words.
func SizeTitle(size int) string {
	if size%1024 == 0 {
		return fmt.Sprintf("%d KiB", size/1024)
	}
	return fmt.Sprintf("%d B", size)
}

// Rates are the fixed rates of the latency rows, records a second.
func Rates() []int { return []int{1000, 10000} }

// EndToEndRate is the rate of the end-to-end rows.
const EndToEndRate = 1000

// RateID and CPUID are the rows of one client's throughput; verb is produce or
// consume.
func RateID(client, verb string, size int) string { return fmt.Sprintf("%s-%s-%d", client, verb, size) }

// CPUID is the row of the broker's processor time of the same.
func CPUID(client, verb string, size int) string { return RateID(client, verb, size) + "-cpu" }

// LatencyID is the row of one percentile ("p50", "p99", "p99.9") of the
// latency of verb ("produce" or "end-to-end") at a rate.
func LatencyID(verb string, rate int, percentile string) string {
	return fmt.Sprintf("%s-%d-%s", verb, rate, percentile)
}

// Rows are all rows in the order of the table.
func Rows() []Row {
	rows := []Row{
		{StartID, "start to first accepted produce", "ms", Start},
		{MemoryIdleID, "resident, idle", "MB", MemoryIdle},
		{MemoryLoadedID, "resident, after load", "MB", MemoryLoaded},
	}
	plain, snappy, java, librdkafka := clients()
	for _, c := range []Client{plain, snappy, java, librdkafka} {
		rows = append(rows, throughput(c, "produce", ProduceRate, ProduceCPU)...)
	}
	for _, c := range []Client{plain, librdkafka} {
		rows = append(rows, throughput(c, "consume", ConsumeRate, ConsumeCPU)...)
	}
	for _, rate := range Rates() {
		rows = append(rows, latency("produce", rate, ProduceMedian, ProduceP99, ProduceP999)...)
	}
	rows = append(rows, latency("end-to-end", EndToEndRate, EndToEnd, EndToEnd, EndToEnd)...)
	rows = append(rows, groups()...)
	return append(rows, transactions()...)
}

func throughput(c Client, verb string, rate, cpu Kind) []Row {
	var rows []Row
	for _, size := range Sizes() {
		title := fmt.Sprintf("%s %s, %s", verb, SizeTitle(size), c.Title)
		rows = append(rows,
			Row{RateID(c.ID, verb, size), title, "k/s", rate},
			Row{CPUID(c.ID, verb, size), title + ": broker CPU per million", "s", cpu})
	}
	return rows
}

func latency(verb string, rate int, p50, p99, p999 Kind) []Row {
	var rows []Row
	for _, p := range []struct {
		name string
		kind Kind
	}{{"p50", p50}, {"p99", p99}, {"p99.9", p999}} {
		title := fmt.Sprintf("%s latency at %d,000/s, %s", verb, rate/1000, p.name)
		rows = append(rows, Row{LatencyID(verb, rate, p.name), title, "ms", p.kind})
	}
	return rows
}
