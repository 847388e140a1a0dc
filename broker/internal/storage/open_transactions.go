package storage

import "github.com/skeinstream/skein/broker/internal/producers"

// OpenTransactions is the producers that have a transaction open in the log, by its first offset.
func (l *Log) OpenTransactions() []producers.Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.producers.Open()
}
