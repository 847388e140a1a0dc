package monitor

import (
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Transactions is the transactional ids at the time of a scrape, and what has happened to transactions since the start.
type Transactions struct {
	// Shards is how many partitions the topic of the transactions has, 0 without one, Serving how many of them answer.
	Shards, Serving int
	States          map[string]int // transactional ids by state
	// OldestOpen is how long the transaction has been open that began first, and OldestID whose it is; 0 and "" without one.
	OldestOpen time.Duration
	OldestID   string
	// Held is the partitions whose committed readers have waited longest for a transaction to end.
	Held []Held
	// Hanging is how many open transactions of partitions were found that nobody would have ended.
	Hanging int64

	Committed, Aborted, TimedOut, Fenced, Late, Expired int64
}

// Held is a partition whose committed readers wait for a transaction to end, and whose that is.
type Held struct {
	Topic           string
	Partition       int32
	ProducerID      int64
	TransactionalID string // "": no coordinator knows the producer
	For             time.Duration
}

// transactions asks for the transactions at each scrape.
type transactions struct{ ask func() Transactions }

// transactionStates are shown even without a transactional id in them.
func transactionStates() []string {
	return []string{"Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort"}
}

var (
	txnShardsDesc   = prometheus.NewDesc("skein_transaction_shards", "Partitions of the topic of transactions, by whether their coordinator serves.", []string{"state"}, nil)
	txnIDsDesc      = prometheus.NewDesc("skein_transactional_ids", "Transactional ids, by state. The open transactions are those in Ongoing.", []string{"state"}, nil)
	txnEndsDesc     = prometheus.NewDesc("skein_transactions_total", "Transactions that have ended, by outcome.", []string{"outcome"}, nil)
	txnTimedOutDesc = prometheus.NewDesc("skein_transactions_timed_out_total", "Transactions that were aborted since they were open for longer than their producer's timeout.", nil, nil)
	txnFencedDesc   = prometheus.NewDesc("skein_transactions_fenced_total", "Transactions that were aborted since another producer of the same transactional id has come.", nil, nil)
	txnLateDesc     = prometheus.NewDesc("skein_transaction_late_requests_total", "Requests that were left undone, and their connections closed, since they were held up on their way and are about a transaction that is over.", nil, nil)
	txnExpiredDesc  = prometheus.NewDesc("skein_transactional_ids_expired_total", "Transactional ids that were forgotten since nobody has used them for their time.", nil, nil)
	txnHangingDesc  = prometheus.NewDesc("skein_transactions_hanging_total", "Open transactions that were found in partitions and that no coordinator knows.", nil, nil)
	txnOldestDesc   = prometheus.NewDesc("skein_transaction_oldest_open_seconds", "How long the transaction has been open that began first, and whose it is. What committed readers of its partitions see is as old.", []string{"transactional_id"}, nil)
	txnHeldDesc     = prometheus.NewDesc("skein_log_unstable_seconds", "How long the transaction has been open that committed readers of a partition wait for, and whose it is: the ten partitions that wait longest, from ten seconds on. Without a transactional id no coordinator knows it.", []string{"topic", "partition", "producer_id", "transactional_id"}, nil)
)

// Describe implements prometheus.Collector.
func (t transactions) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{txnShardsDesc, txnIDsDesc, txnEndsDesc, txnTimedOutDesc, txnFencedDesc, txnLateDesc, txnExpiredDesc, txnHangingDesc, txnOldestDesc, txnHeldDesc} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (t transactions) Collect(to chan<- prometheus.Metric) {
	now := t.ask()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		for i := range labels { // ids of clients may be any bytes, labels may not
			labels[i] = strings.ToValidUTF8(labels[i], "\uFFFD")
		}
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	count := func(d *prometheus.Desc, v int64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
	}
	gauge(txnShardsDesc, float64(now.Serving), "serving")
	gauge(txnShardsDesc, float64(now.Shards-now.Serving), "loading")
	for _, state := range transactionStates() {
		gauge(txnIDsDesc, float64(now.States[state]), state)
	}
	if now.OldestID != "" {
		gauge(txnOldestDesc, now.OldestOpen.Seconds(), now.OldestID)
	}
	for _, h := range now.Held {
		gauge(txnHeldDesc, h.For.Seconds(), h.Topic, strconv.Itoa(int(h.Partition)), strconv.FormatInt(h.ProducerID, 10), h.TransactionalID)
	}
	count(txnEndsDesc, now.Committed, "committed")
	count(txnEndsDesc, now.Aborted, "aborted")
	count(txnTimedOutDesc, now.TimedOut)
	count(txnFencedDesc, now.Fenced)
	count(txnLateDesc, now.Late)
	count(txnExpiredDesc, now.Expired)
	count(txnHangingDesc, now.Hanging)
}
