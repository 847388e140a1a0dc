package consumer

import (
	"errors"
	"fmt"
	"testing"
)

// What a log or a dashboard prints says which partition it is about, and what of it.
func TestPartitionsSayWhichTheyAre(t *testing.T) {
	p := TopicPartition{Topic: "t", Partition: 3}
	for want, value := range map[string]any{
		"t-3":                             p,
		"[t-3 t-3]":                       []TopicPartition{p, p},
		"t-3: from 5 on to 9":             Gap{p, 5, 9},
		"t-3: 1 records":                  PartitionBatch{TopicPartition: p, Records: []*Record{{}}},
		"fetching t-3: no luck":           &PartitionError{p, errors.New("no luck")},
		"t-3: not owned by this consumer": &NotOwnedError{[]TopicPartition{p}},
		"t-3: leader 1, replicas [1 2], in sync [1], offline [2]": PartitionInfo{p, 1, []int32{1, 2}, []int32{1}, []int32{2}},
	} {
		if got := fmt.Sprintf("%v", value); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}
