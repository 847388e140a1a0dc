package eossim

import (
	"fmt"
	"strings"
	"time"

	"github.com/skeinstream/skein/assign"
	"github.com/skeinstream/skein/consumer/internal/membership"
)

// spec is one process as the script starts it.
type spec struct {
	list     []string // what it offers, the preferred assignor first
	instance string
	static   bool // one rebalance protocol for its whole life, as Kafka's consumers
	mute     bool // it tells nobody its transactional id, and fences nobody
}

// The times of all members: short, so that what comes of them happens often.
const (
	session            = 6 * time.Second
	heartbeat          = 2 * time.Second
	pollMax            = 12 * time.Second
	transactionTimeout = timeout * time.Second
	timeout            = 8
	groupName          = "g"
)

// parseSpec reads what follows the name of a process.
func parseSpec(words []string, was spec) (spec, error) {
	s := was
	for _, w := range words {
		key, value, _ := strings.Cut(w, "=")
		switch key {
		case "instance":
			s.instance = value
		case "static":
			s.static = true
		case "mute":
			s.mute = value != "no"
		default:
			s.list = strings.Split(w, ",")
			for _, name := range s.list {
				if assignorOf(name) == nil {
					return s, fmt.Errorf("%q: there is no assignor %q", w, name)
				}
			}
		}
	}
	return s, nil
}

func (s spec) words() string {
	text := strings.Join(s.list, ",")
	if s.instance != "" {
		text += " instance=" + s.instance
	}
	if s.static {
		text += " static"
	}
	if s.mute {
		text += " mute"
	}
	return text
}

func assignorOf(name string) assign.Assignor {
	for _, a := range []assign.Assignor{assign.CooperativeSticky{}, assign.Range{}, assign.RoundRobin{}, assign.Sticky{}, assign.Fair{}} {
		if a.Name() == name {
			return a
		}
	}
	return nil
}

func (s spec) membership(publish []byte) *membership.Machine {
	var list []assign.Assignor
	for _, name := range s.list {
		list = append(list, assignorOf(name))
	}
	m, err := membership.New(membership.Config{
		Group: groupName, InstanceID: s.instance, Assignors: list, Static: s.static,
		SessionTimeout: session, PollInterval: pollMax, HeartbeatInterval: heartbeat, Publish: publish,
	})
	if err != nil {
		panic("eossim: " + err.Error())
	}
	return m
}
