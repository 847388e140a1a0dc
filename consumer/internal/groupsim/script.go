package groupsim

import (
	"fmt"
	"strings"

	"github.com/skeinstream/skein/internal/simulation"
)

// Script is a run: what the world is, and what is done to it when. A broker that is "kafka" knows nothing of what is withheld, and keeps the
// selected protocol alone.
type Script struct {
	simulation.Script
	// Of a thousand callbacks, how many are slow, and how many fail.
	Slow, Fail int
}

// String is the script as text, which Parse reads.
func (s *Script) String() string {
	return s.Text(fmt.Sprintf("callbacks slow %d fail %d\n", s.Slow, s.Fail))
}

// Parse reads a script. Empty lines and what follows a # are passed over.
func Parse(text string) (*Script, error) {
	s := &Script{Script: simulation.Script{Broker: "skein"}}
	err := s.Script.Parse(text, simulation.Language{Setting: s.setting, Settings: "callbacks", Verbs: verbs, Check: check})
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Script) setting(words []string, numbers []int) (known bool) {
	if len(words) != 5 || words[0] != "callbacks" {
		return false
	}
	s.Slow, s.Fail = numbers[2], numbers[4]
	return true
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
	for _, w := range words[1:] {
		if strings.Contains(w, "[") {
			if _, err := parseKind(w); err != nil {
				return err
			}
		}
	}
	return nil
}
