package exactlyonce

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// output is a record that a worker made of one input. Its text is the input's,
// FROM NUMBER, and WORKER ATTEMPT SIZE: in which of whose transactions it was
// written, and how many records that transaction has. A worker that is not told
// of its transactions writes - and how many records of the input's partition
// its state has counted.
type output struct {
	partition int32 // of the output topic
	offset    int64
	from      int32 // the input's partition
	number    int   // the input's place there, counted from 0
	worker    string
	attempt   int // noAttempt: not told
	size      int
}

const noAttempt = -1

func (o output) String() string {
	return fmt.Sprintf("partition %d offset %d: input %d/%d by %s in %d of %d", o.partition, o.offset, o.from, o.number, o.worker, o.attempt, o.size)
}

func parseOutput(partition int32, offset int64, text string) (output, error) {
	o := output{partition: partition, offset: offset, attempt: noAttempt}
	words := strings.Fields(text)
	if len(words) != 5 {
		return o, fmt.Errorf("partition %d offset %d: %q is no output", partition, offset, text)
	}
	from, err := strconv.ParseInt(words[0], 10, 32)
	o.from, o.worker = int32(from), words[2]
	for i, n := range map[int]*int{1: &o.number, 3: &o.attempt, 4: &o.size} {
		if err == nil && (i != 3 || words[i] != "-") {
			*n, err = strconv.Atoi(words[i])
		}
	}
	if err != nil {
		return o, fmt.Errorf("partition %d offset %d: %q is no output: %w", partition, offset, text, err)
	}
	return o, nil
}

// route is the output partition of an input: a transaction about one partition
// of the input, too, has records in several partitions of the output.
func route(from int32, number, partitions int) int32 {
	return int32((int(from) + number) % partitions)
}

// claim is what a worker says of one of its transactions.
type claim struct {
	size int
	end  kind // committed or aborted; empty when it does not know, or was killed before it said
}

// evidence is what is there of a group's work.
type evidence struct {
	inputs  map[int32][]int64        // the offset of each input, by partition
	outputs []output                 // what is committed
	offsets map[int32]int64          // the group's
	claims  map[string]map[int]claim // by worker and attempt
	history history                  // what the logs tell of it; nil: nobody has looked
}

// handled is how many inputs of a partition are below the group's offset.
func (e evidence) handled(partition int32) int {
	n, _ := slices.BinarySearch(e.inputs[partition], e.offsets[partition])
	return n
}

// judge tells what must not be: an input below the group's offset without an
// output, an output without its input's offset, an input with two, outputs that
// are out of the order of their inputs, a transaction of which a part is there,
// one that is there though it was aborted, or not there though it was committed.
func judge(e evidence) (wrongs []string) {
	outputs := slices.Clone(e.outputs)
	slices.SortFunc(outputs, func(a, b output) int {
		return cmp.Or(cmp.Compare(a.partition, b.partition), cmp.Compare(a.offset, b.offset))
	})
	return slices.Concat(once(e, outputs), complete(e, outputs), whole(e, outputs))
}

// once looks at each output by itself and at what came before it.
func once(e evidence, outputs []output) (wrongs []string) {
	type place struct{ partition, from int32 }
	last := map[place]int{}
	seen := map[int32]map[int]output{}
	for _, o := range outputs {
		if o.from < 0 || o.number < 0 || o.number >= len(e.inputs[o.from]) {
			wrongs = append(wrongs, fmt.Sprintf("nobody has written its input: %v", o))
			continue
		}
		if want := route(o.from, o.number, len(e.inputs)); want != o.partition {
			wrongs = append(wrongs, fmt.Sprintf("it belongs to partition %d: %v", want, o))
		}
		if first, twice := seen[o.from][o.number]; twice {
			wrongs = append(wrongs, fmt.Sprintf("twice: %v, and %v%s", first, o, e.history.tells(o.from, o.number)))
			continue
		}
		if seen[o.from] == nil {
			seen[o.from] = map[int]output{}
		}
		seen[o.from][o.number] = o
		at := place{o.partition, o.from}
		if before, any := last[at]; any && before >= o.number {
			wrongs = append(wrongs, fmt.Sprintf("it comes after input %d of the same partition: %v", before, o))
		}
		last[at] = o.number
		if o.attempt == noAttempt && o.size != o.number+1 {
			wrongs = append(wrongs, fmt.Sprintf("the worker's state counts %d inputs, it is number %d: %v", o.size, o.number+1, o))
		}
	}
	return wrongs
}

// complete compares outputs with the group's offsets.
func complete(e evidence, outputs []output) (wrongs []string) {
	there := map[int32]map[int]bool{}
	for _, o := range outputs {
		if there[o.from] == nil {
			there[o.from] = map[int]bool{}
		}
		there[o.from][o.number] = true
	}
	for _, p := range slices.Sorted(maps.Keys(e.inputs)) {
		handled := e.handled(p)
		for number := range e.inputs[p] {
			switch below := number < handled; {
			case below && !there[p][number]:
				wrongs = append(wrongs, fmt.Sprintf("lost: the group's offset of partition %d is %d, and input %d has no output%s", p, e.offsets[p], number, e.history.tells(p, number)))
			case !below && there[p][number]:
				wrongs = append(wrongs, fmt.Sprintf("input %d of partition %d has an output, and the group's offset is %d%s", number, p, e.offsets[p], e.history.tells(p, number)))
			}
		}
	}
	return wrongs
}

// whole compares outputs with what workers say of their transactions.
func whole(e evidence, outputs []output) (wrongs []string) {
	counts := map[string]map[int]int{}
	for _, o := range outputs {
		if o.attempt == noAttempt {
			continue
		}
		if counts[o.worker] == nil {
			counts[o.worker] = map[int]int{}
		}
		counts[o.worker][o.attempt]++
		if c, known := e.claims[o.worker][o.attempt]; !known || c.size != o.size {
			wrongs = append(wrongs, fmt.Sprintf("its worker has begun no such transaction: %v", o))
		}
	}
	for _, worker := range slices.Sorted(maps.Keys(e.claims)) {
		for _, n := range slices.Sorted(maps.Keys(e.claims[worker])) {
			c, count := e.claims[worker][n], counts[worker][n]
			switch {
			case c.end == aborted && count > 0:
				wrongs = append(wrongs, fmt.Sprintf("%s has aborted transaction %d, and %d of its records are there", worker, n, count))
			case c.end == committed && count < c.size:
				wrongs = append(wrongs, fmt.Sprintf("%s has committed transaction %d, and %d of its %d records are there", worker, n, count, c.size))
			case count != 0 && count != c.size:
				wrongs = append(wrongs, fmt.Sprintf("torn: of transaction %d of %s, %d of %d records are there", n, worker, count, c.size))
			}
		}
	}
	return wrongs
}
