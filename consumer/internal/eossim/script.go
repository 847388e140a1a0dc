package eossim

import (
	"fmt"

	"github.com/skeinstream/skein/internal/simulation"
)

// Script is a run: what the world is, and what is done to it when. Its topics are inputs; outputs go to topics of their own.
type Script struct {
	simulation.Script
	Version int // transaction.version: 1 or 2
	// Of a thousand batches, how many take long; of a thousand records, how many cannot be processed at first, or ever.
	// Of a thousand records of the output, how many expire before they are sent.
	Slow, Poison, Expire int
	Tries                int // of a request that is not answered
	// Fencing has members tell each other their transactional ids, and fence the dead. Timeout is after how many seconds the broker ends a
	// transaction by itself.
	Fencing bool
	Timeout int
}

// String is the script as text, which Parse reads.
func (s *Script) String() string {
	return s.Text(fmt.Sprintf("transactions %d\nwork slow %d poison %d expire %d tries %d\nfencing %d timeout %d\n",
		s.Version, s.Slow, s.Poison, s.Expire, s.Tries, map[bool]int{true: 1}[s.Fencing], s.Timeout))
}

// Parse reads a script. Empty lines and what follows a # are passed over.
func Parse(text string) (*Script, error) {
	s := &Script{Script: simulation.Script{Broker: "skein"}, Version: 2, Tries: 5, Timeout: timeout}
	err := s.Script.Parse(text, simulation.Language{Setting: s.setting, Settings: "transactions, work, fencing", Verbs: verbs, Check: check})
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Script) setting(words []string, numbers []int) (known bool) {
	switch {
	case len(words) == 2 && words[0] == "transactions":
		s.Version = numbers[1]
	case len(words) == 9 && words[0] == "work":
		s.Slow, s.Poison, s.Expire, s.Tries = numbers[2], numbers[4], numbers[6], numbers[8]
	case len(words) == 4 && words[0] == "fencing":
		s.Fencing, s.Timeout = numbers[1] > 0, numbers[3]
	default:
		return false
	}
	return true
}

// verbs are what can be done, with the least number of words behind.
var verbs = map[string]int{
	"start":      2, // start a cooperative-sticky,range instance=i static mute: a process begins
	"bounce":     1, // bounce a range: it is told to stop, and begins again with that
	"kill":       1, // kill a [range]: it ends at once, and begins again
	"close":      1, // it stops for good
	"die":        1, // it is killed, and not started again
	"freeze":     2, // freeze a 12s: the whole process stands still
	"twin":       1, // twin a: another process with its group.instance.id and its transactional id
	"fence":      1, // fence a: an operator takes its transactional id
	"cut":        1, // its connections break
	"rejoin":     1, // it wishes for a rebalance
	"failover":   1, // failover groups|transactions|all: the coordinator goes; what is not on disk is lost
	"partitions": 2, // partitions t 6
}

func check(words []string) error {
	if words[0] == "start" || (words[0] == "bounce" || words[0] == "kill") && len(words) > 2 {
		_, err := parseSpec(words[2:], spec{})
		return err
	}
	return nil
}
