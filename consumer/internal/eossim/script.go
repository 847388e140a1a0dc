package eossim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Script is a run: what the world is, and what is done to it when.
type Script struct {
	Seed    uint64 // of the dice that network, disk and processes throw
	Broker  string // "skein" or "kafka"
	Version int    // transaction.version: 1 or 2
	Fences  bool   // the coordinator looks at who owns what is committed (R-C18)
	// Of a thousand messages, how many are lost, come twice, come late.
	Lost, Twice, Late int
	// Of a thousand batches, how many take long; of a thousand records, how many cannot be processed at first, or ever.
	// Of a thousand records of the output, how many expire before they are sent.
	Slow, Poison, Expire int
	Tries                int // of a request that is not answered
	Topics               []Topic
	Lines                []Line
	Calm                 time.Duration // when all faults end
}

// Topic is one of the inputs. Outputs go to topics of their own.
type Topic struct {
	Name       string
	Partitions int32
}

// Line is one thing that is done.
type Line struct {
	At    time.Duration
	Words []string
}

func (l Line) String() string { return l.At.String() + " " + strings.Join(l.Words, " ") }

// String is the script as text, which Parse reads.
func (s *Script) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d\nbroker %s\ntransactions %d\n", s.Seed, s.Broker, s.Version)
	if s.Fences {
		b.WriteString("fences\n")
	}
	fmt.Fprintf(&b, "network lost %d twice %d late %d\nwork slow %d poison %d expire %d tries %d\n", s.Lost, s.Twice, s.Late, s.Slow, s.Poison, s.Expire, s.Tries)
	for _, t := range s.Topics {
		fmt.Fprintf(&b, "topic %s %d\n", t.Name, t.Partitions)
	}
	for _, l := range s.Lines {
		fmt.Fprintln(&b, l)
	}
	fmt.Fprintf(&b, "%v calm\n", s.Calm)
	return b.String()
}

// Parse reads a script. Empty lines and what follows a # are passed over.
func Parse(text string) (*Script, error) {
	s := &Script{Broker: "skein", Version: 2, Tries: 5}
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if err := s.line(words); err != nil {
			return nil, fmt.Errorf("line %d, %q: %w", i+1, line, err)
		}
	}
	slices.SortStableFunc(s.Lines, func(a, b Line) int { return int(a.At - b.At) })
	return s, nil
}

func (s *Script) line(words []string) error {
	at, err := time.ParseDuration(words[0])
	if err != nil {
		return s.setting(words)
	}
	if len(words) == 2 && words[1] == "calm" {
		s.Calm = at
		return nil
	}
	s.Lines = append(s.Lines, Line{at, words[1:]})
	return check(words[1:])
}

func (s *Script) setting(words []string) (err error) {
	numbers := make([]int, len(words))
	for i, w := range words {
		numbers[i], _ = strconv.Atoi(w)
	}
	switch {
	case len(words) == 2 && words[0] == "seed":
		s.Seed, err = strconv.ParseUint(words[1], 10, 64)
	case len(words) == 2 && words[0] == "broker":
		s.Broker = words[1]
	case len(words) == 2 && words[0] == "transactions":
		s.Version = numbers[1]
	case words[0] == "fences":
		s.Fences = true
	case len(words) == 7 && words[0] == "network":
		s.Lost, s.Twice, s.Late = numbers[2], numbers[4], numbers[6]
	case len(words) == 9 && words[0] == "work":
		s.Slow, s.Poison, s.Expire, s.Tries = numbers[2], numbers[4], numbers[6], numbers[8]
	case len(words) == 3 && words[0] == "topic":
		s.Topics = append(s.Topics, Topic{words[1], int32(numbers[2])})
	default:
		return fmt.Errorf("no such setting: seed, broker, transactions, fences, network, work, topic, or a time and what is done then")
	}
	return err
}

// verbs are what can be done, with the least number of words behind.
var verbs = map[string]int{
	"start":      2, // start a cooperative-sticky,range instance=i static: a process begins
	"bounce":     1, // bounce a range: it is told to stop, and begins again with that
	"kill":       1, // kill a [range]: it ends at once, and begins again
	"close":      1, // it stops for good
	"freeze":     2, // freeze a 12s: the whole process stands still
	"twin":       1, // twin a: another process with its group.instance.id and its transactional id
	"fence":      1, // fence a: an operator takes its transactional id
	"cut":        1, // its connections break
	"rejoin":     1, // it wishes for a rebalance
	"failover":   1, // failover groups|transactions|all: the coordinator goes; what is not on disk is lost
	"partitions": 2, // partitions t 6
}

func check(words []string) error {
	least, known := verbs[words[0]]
	if !known || len(words) <= least {
		return fmt.Errorf("%q cannot be done so", strings.Join(words, " "))
	}
	if words[0] == "start" || (words[0] == "bounce" || words[0] == "kill") && len(words) > 2 {
		_, err := parseSpec(words[2:], spec{})
		return err
	}
	return nil
}
