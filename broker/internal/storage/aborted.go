package storage

import (
	"cmp"
	"slices"
)

// AbortedTransactions returns every aborted transaction that overlaps the offsets
// from up to, not including, to, by first offset (T23): also one whose marker
// comes only behind to, if it is in the log.
func (l *Log) AbortedTransactions(from, to int64) (txns []AbortedTxn, err error) {
	err = l.view(func(list []*segment, _ int64) error {
		txns = nil
		for _, s := range list[floor(list, from):] {
			all, err := s.aborted.all()
			if err != nil {
				return err
			}
			for _, t := range all {
				if t.LastOffset >= from && t.FirstOffset < to {
					txns = append(txns, t)
				}
				if t.LastStable >= to {
					return nil // those that end later begin there or later
				}
			}
		}
		return nil
	})
	slices.SortFunc(txns, func(a, b AbortedTxn) int { return cmp.Compare(a.FirstOffset, b.FirstOffset) })
	return txns, l.wrap("looking for aborted transactions in log", err)
}
