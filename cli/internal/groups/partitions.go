package groups

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/skeinstream/skein/cli/internal/problem"
)

// Partitions are partitions by topic, in ascending order.
type Partitions map[string][]int32

// Add adds partitions that may be there already.
func (p *Partitions) Add(topic string, partitions ...int32) {
	if *p == nil {
		*p = Partitions{}
	}
	all := append((*p)[topic], partitions...)
	slices.Sort(all)
	(*p)[topic] = slices.Compact(all)
}

// Topics lists the topics in order.
func (p Partitions) Topics() []string { return slices.Sorted(maps.Keys(p)) }

// Len counts the partitions.
func (p Partitions) Len() int {
	n := 0
	for _, partitions := range p {
		n += len(partitions)
	}
	return n
}

// Covers says that p, as a scope, covers a partition: a topic without partitions stands for all that it has.
func (p Partitions) Covers(topic string, partition int32) bool {
	partitions, named := p[topic]
	_, listed := slices.BinarySearch(partitions, partition)
	return listed || named && len(partitions) == 0
}

// Each calls f for every partition in order.
func (p Partitions) Each(f func(topic string, partition int32)) {
	for _, topic := range p.Topics() {
		for _, partition := range p[topic] {
			f(topic, partition)
		}
	}
}

// String writes orders:0-2,5 payments:1.
func (p Partitions) String() string {
	var words []string
	for _, topic := range p.Topics() {
		words = append(words, topic+":"+ranges(p[topic]))
	}
	return strings.Join(words, " ")
}

// ranges writes 0-2,5 for 0, 1, 2, 5.
func ranges(numbers []int32) string {
	var words []string
	for i := 0; i < len(numbers); {
		j := i
		for j+1 < len(numbers) && numbers[j+1] == numbers[j]+1 {
			j++
		}
		switch {
		case j == i:
			words = append(words, strconv.Itoa(int(numbers[i])))
		default:
			words = append(words, fmt.Sprintf("%d-%d", numbers[i], numbers[j]))
		}
		i = j + 1
	}
	return strings.Join(words, ",")
}

// ParseScope reads TOPIC or TOPIC:0,2-5 as the --topic options of a command line give it. A topic without numbers stands for
// all its partitions and is in the result without any.
func ParseScope(words []string) (Partitions, error) {
	out := Partitions{}
	for _, word := range words {
		topic, list, some := strings.Cut(word, ":")
		before, again := out[topic]
		if topic == "" || again && (!some || len(before) == 0) {
			return nil, problem.Usage("write TOPIC, or TOPIC:0,1 for some of its partitions", "%q is no topic, or one that was named before", word)
		}
		if out.Add(topic); !some {
			continue
		}
		var numbers []int32
		for part := range strings.SplitSeq(list, ",") {
			from, to, err := parseRange(part)
			if err != nil {
				return nil, problem.Usage("write TOPIC:0,1 or TOPIC:0-7", "%q in %q is not a partition", part, word)
			}
			for p := from; p <= to; p++ {
				numbers = append(numbers, int32(p))
			}
		}
		out.Add(topic, numbers...)
	}
	return out, nil
}

// maxPartitions bounds a range that somebody mistyped.
const maxPartitions = 1_000_000

func parseRange(text string) (from, to int64, err error) {
	first, last, isRange := strings.Cut(text, "-")
	if from, err = strconv.ParseInt(first, 10, 32); err != nil || from < 0 {
		return 0, 0, fmt.Errorf("%q is not a number from 0 on", first)
	}
	if to = from; isRange {
		to, err = strconv.ParseInt(last, 10, 32)
	}
	if err != nil || to < from || to-from > maxPartitions {
		return 0, 0, fmt.Errorf("%q is not a range", text)
	}
	return from, to, nil
}
