package exactlyonce

import (
	"context"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// history is what the logs tell of things that were written, in transactions or not, and what has become of each: by it one sees of something wrong whether
// the broker, a program, or the judge is at fault.
type history map[string][]*fate

// fate is what has become of a record.
type fate struct {
	partition int32 // of the topic in which it is
	offset    int64
	producer  int64
	epoch     int16
	value     string
	end       marker // notControl: nothing is decided
	decided   int64  // where its transaction's marker is
}

func (f fate) String() string {
	end := "open"
	switch f.end {
	case commitMarker:
		end = fmt.Sprintf("committed at %d", f.decided)
	case abortMarker:
		end = fmt.Sprintf("aborted at %d", f.decided)
	}
	return fmt.Sprintf("%q at %d of partition %d by producer %d in epoch %d, %s", f.value, f.offset, f.partition, f.producer, f.epoch, end)
}

// add takes what a partition's log has. The name of a record that is not looked for is empty; what is told of the others is as short as can be.
func (h history) add(partition int32, batches []batch, named func(key, value string) (name, told string)) {
	open := map[int64][]*fate{}
	for _, b := range batches {
		if b.control != notControl {
			for _, f := range open[b.producer] {
				f.end, f.decided = b.control, b.first
			}
			delete(open, b.producer)
			continue
		}
		for i, value := range b.values {
			name, told := named(b.key(i), value)
			if name == "" {
				continue
			}
			f := &fate{partition: partition, offset: b.first + int64(i), producer: b.producer, epoch: b.epoch, value: told}
			h[name] = append(h[name], f)
			if b.transactional {
				open[b.producer] = append(open[b.producer], f)
			} else {
				f.end, f.decided = commitMarker, f.offset
			}
		}
	}
}

func (b batch) key(i int) string {
	if i < len(b.keys) {
		return b.keys[i]
	}
	return ""
}

// tells is the history of an input: what was made of it, and the last offsets that the group has had of its partition.
func (h history) tells(from int32, number int) string {
	if h == nil {
		return ""
	}
	const most = 4
	offsets := h[offsetName(from)]
	return fmt.Sprintf("; made of it: %v; offsets of its partition: %v", h[inputName(fmt.Sprint(from), fmt.Sprint(number))], offsets[max(0, len(offsets)-most):])
}

func inputName(from, number string) string { return "input " + from + "/" + number }
func offsetName(partition int32) string    { return fmt.Sprint("offset of ", partition) }

// ofOutput names a record by the input that it was made of.
func ofOutput(_, value string) (name, told string) {
	words := strings.Fields(value)
	if len(words) < 2 {
		return "", ""
	}
	return inputName(words[0], words[1]), value
}

// ofOffset names a record of the group's offsets.
func (j job) ofOffset(key, value string) (name, told string) {
	k, v := kmsg.NewOffsetCommitKey(), kmsg.NewOffsetCommitValue()
	if len(key) < 2 || key[0] != 0 || key[1] > 1 || value == "" { // others are of groups; a deletion has no value
		return "", ""
	}
	if k.ReadFrom([]byte(key)) != nil || v.ReadFrom([]byte(value)) != nil || k.Group != j.group || k.Topic != j.input {
		return "", ""
	}
	return offsetName(k.Partition), fmt.Sprint(v.Offset)
}

// offsetsTopic is where brokers keep the offsets of groups.
const offsetsTopic = "__consumer_offsets"

// explained is what the judge says, with what the logs tell of it.
func (l *life) explained(e evidence) []string {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	e.history = history{}
	for p := range int32(partitions) {
		for _, log := range []struct {
			reader
			named func(key, value string) (name, told string)
		}{{l.outputs, ofOutput}, {reader{l.outputs.client, offsetsTopic}, l.a.job.ofOffset}} {
			f, err := log.partition(ctx, p, false)
			if err != nil {
				l.t.Logf("what has become of what was written: %v", err)
			}
			e.history.add(p, f.batches, log.named)
		}
	}
	return judge(e)
}
