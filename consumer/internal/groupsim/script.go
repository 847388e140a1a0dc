package groupsim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Script is a run: what the world is, and what is done to it when.
type Script struct {
	Seed   uint64 // of the dice that network, disk and users throw
	Broker string // "skein", or "kafka": one that knows nothing of what is withheld and keeps the selected protocol alone
	Fences bool   // the coordinator looks at who owns what is committed (R-C18)
	// Of a thousand messages, how many are lost, come twice, come late.
	Lost, Twice, Late int
	// Of a thousand callbacks, how many are slow, and how many fail.
	Slow, Fail int
	Topics     []Topic
	Lines      []Line
	Calm       time.Duration // when all faults end
}

// Topic is one that is there from the start.
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
	fmt.Fprintf(&b, "seed %d\nbroker %s\n", s.Seed, s.Broker)
	if s.Fences {
		b.WriteString("fences\n")
	}
	fmt.Fprintf(&b, "network lost %d twice %d late %d\ncallbacks slow %d fail %d\n", s.Lost, s.Twice, s.Late, s.Slow, s.Fail)
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
	s := &Script{Broker: "skein"}
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
	case words[0] == "fences":
		s.Fences = true
	case len(words) == 7 && words[0] == "network":
		s.Lost, s.Twice, s.Late = numbers[2], numbers[4], numbers[6]
	case len(words) == 5 && words[0] == "callbacks":
		s.Slow, s.Fail = numbers[2], numbers[4]
	case len(words) == 3 && words[0] == "topic":
		s.Topics = append(s.Topics, Topic{words[1], int32(numbers[2])})
	default:
		return fmt.Errorf("no such setting: seed, broker, fences, network, callbacks, topic, or a time and what is done then")
	}
	return err
}

// verbs are what can be done, with the least number of words behind.
var verbs = map[string]int{
	"start":      2, // start a D[range] topics=t,u|pattern=t instance=i slow strict: a process begins
	"bounce":     2, // bounce a D[…]: it is closed, and begins again as that
	"kill":       1, // kill a [D[…]]: it ends at once, and begins again
	"close":      1, // it is closed for good
	"freeze":     2, // freeze a 12s: the whole process stands still
	"away":       2, // away a 20s: its user does not poll
	"twin":       1, // twin a: another process with its group.instance.id
	"cut":        1, // its connections break
	"rejoin":     1, // its user wishes for a rebalance
	"wants":      2, // wants a t,u: it subscribes anew
	"unsub":      2, // unsub a 3s: it subscribes to nothing for a while
	"failover":   0, // the coordinator goes; what is not on disk is lost
	"create":     2, // create u 3
	"partitions": 2, // partitions t 6
	"delete":     1, // delete u
}

func check(words []string) error {
	least, known := verbs[words[0]]
	if !known || len(words) <= least {
		return fmt.Errorf("%q cannot be done so", strings.Join(words, " "))
	}
	for _, w := range words[1:] {
		if strings.Contains(w, "[") {
			if _, err := parseKind(w); err != nil {
				return err
			}
		}
	}
	return nil
}
