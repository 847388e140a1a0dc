package simulation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Script is what the scripts of all simulations say: what the world is, and what is done to it when. Each has settings of its own besides.
type Script struct {
	Seed   uint64 // of the dice that network, disk and processes throw
	Broker string // "skein" or "kafka"
	Fences bool   // the coordinator looks at who owns what is committed (R-C18)
	// Of a thousand messages, how many are lost, come twice, come late.
	Lost, Twice, Late int
	Topics            []Topic
	Lines             []Line
	Calm              time.Duration // when all faults end
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

// Language is what the scripts of one simulation may say.
type Language struct {
	// Setting takes one that is not of all scripts, with the numbers among its words, and says whether there is such a one.
	Setting func(words []string, numbers []int) (known bool)
	// Settings names those.
	Settings string
	// Verbs are what can be done, with the least number of words behind.
	Verbs map[string]int
	// Check looks at what is done, of which the verb is known.
	Check func(words []string) error
}

// Text is the script as Parse reads it. Own are the lines of its own settings.
func (s *Script) Text(own string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d\nbroker %s\n", s.Seed, s.Broker)
	if s.Fences {
		b.WriteString("fences\n")
	}
	fmt.Fprintf(&b, "network lost %d twice %d late %d\n%s", s.Lost, s.Twice, s.Late, own)
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
func (s *Script) Parse(text string, l Language) error {
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if err := s.line(words, l); err != nil {
			return fmt.Errorf("line %d, %q: %w", i+1, line, err)
		}
	}
	s.Sort()
	return nil
}

// Sort puts lines into the order of time.
func (s *Script) Sort() {
	slices.SortStableFunc(s.Lines, func(a, b Line) int { return int(a.At - b.At) })
}

func (s *Script) line(words []string, l Language) error {
	at, err := time.ParseDuration(words[0])
	if err != nil {
		return s.setting(words, l)
	}
	words = words[1:]
	if len(words) == 1 && words[0] == "calm" {
		s.Calm = at
		return nil
	}
	s.Lines = append(s.Lines, Line{at, words})
	return l.check(words)
}

func (l Language) check(words []string) error {
	if len(words) > 0 {
		if least, known := l.Verbs[words[0]]; known && len(words) > least {
			return l.Check(words)
		}
	}
	return fmt.Errorf("%q cannot be done so", strings.Join(words, " "))
}

func (s *Script) setting(words []string, l Language) (err error) {
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
	case len(words) == 3 && words[0] == "topic":
		s.Topics = append(s.Topics, Topic{words[1], int32(numbers[2])})
	case !l.Setting(words, numbers):
		return fmt.Errorf("no such setting: seed, broker, fences, network, topic, %s, or a time and what is done then", l.Settings)
	}
	return err
}

// Begun are the processes that have begun by a moment, or else the first of them.
func (s *Script) Begun(by time.Duration) (names []string) {
	for _, l := range s.Lines {
		if l.Words[0] == "start" && (l.At <= by || len(names) == 0) {
			names = append(names, l.Words[1])
		}
	}
	slices.Sort(names)
	return names
}

// Smaller are versions of a script without one line, or with a better world: of says what all scripts have of it, and numbers are its own
// that are better when they are 0.
func Smaller[S any](s *S, of func(*S) *Script, numbers ...func(*S) *int) (list []*S) {
	but := func(change func(*S, *Script)) {
		c := *s
		common := of(&c)
		common.Lines, common.Topics = slices.Clone(common.Lines), slices.Clone(common.Topics)
		change(&c, common)
		list = append(list, &c)
	}
	for i := len(of(s).Lines) - 1; i >= 0; i-- {
		but(func(_ *S, c *Script) { c.Lines = slices.Delete(c.Lines, i, i+1) })
	}
	for _, number := range append([]func(*S) *int{
		func(s *S) *int { return &of(s).Lost }, func(s *S) *int { return &of(s).Twice }, func(s *S) *int { return &of(s).Late },
	}, numbers...) {
		if *number(s) != 0 {
			but(func(s *S, _ *Script) { *number(s) = 0 })
		}
	}
	for i, t := range of(s).Topics {
		if t.Partitions > 1 {
			but(func(_ *S, c *Script) { c.Topics[i].Partitions-- })
		}
	}
	return list
}
