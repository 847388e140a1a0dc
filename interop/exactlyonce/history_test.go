package exactlyonce

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// offsetRecord is a record of a group's offset, as brokers keep it.
func offsetRecord(group string, partition int32, at int64) (key, value string) {
	k, v := kmsg.NewOffsetCommitKey(), kmsg.NewOffsetCommitValue()
	k.Version, k.Group, k.Topic, k.Partition = 1, group, inputTopic, partition
	v.Version, v.Offset = 3, at
	return string(k.AppendTo(nil)), string(v.AppendTo(nil))
}

func TestWhatTheLogsTell(t *testing.T) {
	h := history{}
	h.add(3, []batch{
		{producer: 7, epoch: 2, transactional: true, first: 0, values: []string{"1 12 a2 7 20", "1 13 a2 7 20"}},
		{producer: 8, epoch: 1, transactional: true, first: 2, values: []string{"1 12 b1 1 20"}},
		{producer: 7, epoch: 3, transactional: true, first: 3, control: abortMarker},
		{producer: 9, transactional: true, first: 4, values: []string{"1 12 a3 1 20", poison}},
		{producer: 8, epoch: 1, transactional: true, first: 6, control: commitMarker},
		{producer: -1, first: 7, values: []string{"1 12 c1 1 1"}},
	}, ofOutput)
	mine, other := job{group, inputTopic, outputTopic}, "another"
	key, value := offsetRecord(group, 1, 12)
	otherKey, otherValue := offsetRecord(other, 1, 99)
	h.add(0, []batch{
		{producer: 7, epoch: 2, transactional: true, first: 0, keys: []string{key, otherKey, "\x00\x02of a member", key}, values: []string{value, otherValue, "x", ""}},
		{producer: 7, epoch: 3, transactional: true, first: 4, control: commitMarker},
	}, mine.ofOffset)
	got := h.tells(1, 12)
	for _, want := range []string{
		`"1 12 a2 7 20" at 0 of partition 3 by producer 7 in epoch 2, aborted at 3`,
		`"1 12 b1 1 20" at 2 of partition 3 by producer 8 in epoch 1, committed at 6`,
		`"1 12 a3 1 20" at 4 of partition 3 by producer 9 in epoch 0, open`,
		`"1 12 c1 1 1" at 7 of partition 3 by producer -1 in epoch 0, committed at 7`,
		`offsets of its partition: ["12" at 0 of partition 0 by producer 7 in epoch 2, committed at 4]`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("it tells %q, and not %q", got, want)
		}
	}
	for _, other := range []string{"1 13", "99"} {
		if strings.Contains(got, other) {
			t.Errorf("it tells %q, where nobody has asked for %s", got, other)
		}
	}
	e := work()
	e.outputs, e.history = e.outputs[:5], h
	if wrongs := strings.Join(judge(e), "\n"); !strings.Contains(wrongs, "lost") || !strings.Contains(wrongs, "made of it: []") {
		t.Errorf("the judge says %q", wrongs)
	}
}
