// Package story is what `skein demo upgrade` tells, as values: the acts and their steps, what everybody does as events, the state of
// the play that follows from them, and what it has come to in the end. Package stage acts it out, package screen draws it.
package story

import (
	"strings"
	"time"
)

// Cell is how much time a character of the tickers stands for.
const Cell = 250 * time.Millisecond

// The size of the group that is shown (C26 of the requirements).
const (
	Members    = 3
	Partitions = 12
)

// Code is what a member runs.
type Code int

const (
	// Old is what Kafka's consumers up to 2.8 are by default: one protocol for life, and the assignor range, which is EAGER.
	Old Code = iota
	// New is Skein's consumer as it is without any configuration.
	New
	// Between is Skein's consumer with its assignors the other way round, on the way back to Old where the broker refuses that.
	Between
)

func (c Code) String() string { return [...]string{"old", "new", "mid"}[c] }

// Offers are the names of the assignors, the preferred one first.
func (c Code) Offers() []string {
	return [...][]string{{eager}, {cooperative, eager}, {eager, cooperative}}[c]
}

// The assignors that the story is about.
const (
	eager       = "range"
	cooperative = "cooperative-sticky"
)

// Verb is what is done in a step.
type Verb int

const (
	Start      Verb = iota // a process of Code in the place Slot
	Stop                   // it ends as it should: it commits, and leaves
	Kill                   // it ends as by kill -9: nobody is told
	KillLeader             // the same to the group's leader
	Replace                // a process of Code in the place of whoever was killed last
	Restart                // the broker ends, and starts on the same data
	Settle                 // wait until the group shares all partitions, and records flow
	Show                   // let people look
)

// Step is one thing that is done.
type Step struct {
	Do   Verb
	Slot int // 1 to Members
	Code Code
	Text string // what people are told while it runs
}

// Act is a part of the story with a point.
type Act struct {
	Title string
	Point string // what is to be seen
	// Clean acts have no record handled twice. Limit is how many generations an act may take, 0 for any number.
	Clean bool
	Limit int32
	// The assignor and protocol that have to be in force at its end.
	Assignor    string
	Cooperative bool
	Steps       []Step
}

// Protocol is the protocol that has to be in force at the end.
func (a Act) Protocol() string { return ProtocolOf(a.Cooperative) }

// ProtocolOf is a protocol by Kafka's name.
func ProtocolOf(cooperative bool) string {
	if cooperative {
		return "COOPERATIVE"
	}
	return "EAGER"
}

// Cluster is what the story has to know of where it plays.
type Cluster struct {
	Admits  bool // the broker lets an old member into a group that runs COOPERATIVE (C15): Skein does
	Restart bool // it is ours to start again
}

// Script is the whole story.
func Script(c Cluster) []Act {
	acts := []Act{beginning(), bounce("one rolling bounce to the new code", "once the last old member is gone, the group turns COOPERATIVE by itself", New)}
	acts = append(acts,
		death("kill -9 of a member", Step{Do: Kill, Slot: 2, Text: "member 2 is killed: nobody knows before its session is over"}),
		comeback(),
		death("kill -9 of the leader", Step{Do: KillLeader, Text: "the leader is killed: another member takes its office"}),
		comeback())
	if c.Restart {
		acts = append(acts, restart())
	}
	if !c.Admits {
		acts = append(acts, bounce("a bounce to [range, cooperative-sticky]", "this broker refuses old code in a COOPERATIVE group (error 23): first this", Between))
	}
	return append(acts, bounce(down(c), "the group falls back to EAGER in good order", Old))
}

func down(c Cluster) string {
	if c.Admits {
		return "one rolling bounce back to the old code"
	}
	return "a bounce back to the old code"
}

func beginning() Act {
	a := Act{Title: "three members of the old code", Point: "[range] is EAGER: whenever the group changes, everything stops", Assignor: eager}
	for slot := 1; slot <= Members; slot++ {
		a.Steps = append(a.Steps, Step{Do: Start, Slot: slot, Code: Old, Text: "the group begins"})
	}
	a.Steps = append(a.Steps, Step{Do: Settle, Text: "the group begins"}, Step{Do: Show, Text: "all is calm"})
	return a
}

// bounce stops and starts the members one after the other.
func bounce(title, point string, code Code) Act {
	a := Act{Title: title, Point: point, Clean: true, Assignor: eager}
	if code == New {
		a.Assignor, a.Cooperative = cooperative, true
	}
	for slot := 1; slot <= Members; slot++ {
		who := "member " + string(rune('0'+slot))
		a.Steps = append(a.Steps,
			Step{Do: Stop, Slot: slot, Text: who + " stops"},
			Step{Do: Settle, Text: who + " stops; two members share the work"},
			Step{Do: Start, Slot: slot, Code: code, Text: who + " starts with [" + strings.Join(code.Offers(), ", ") + "]"},
			Step{Do: Settle, Text: who + " starts with [" + strings.Join(code.Offers(), ", ") + "]"},
			Step{Do: Show, Text: who + " is back"})
	}
	return a
}

// settling is within how many generations a group is whole after a member died (C26).
const settling = 3

func death(title string, kill Step) Act {
	return Act{
		Title: title, Point: "only its partitions stop, until its session is over", Limit: settling, Assignor: cooperative, Cooperative: true,
		Steps: []Step{kill, {Do: Settle, Text: kill.Text}, {Do: Show, Text: "the others have taken its partitions"}},
	}
}

func comeback() Act {
	return Act{
		Title: "a new process in its place", Point: "only the partitions that it gets stop", Clean: true, Limit: settling, Assignor: cooperative, Cooperative: true,
		Steps: []Step{{Do: Replace, Code: New, Text: "it comes back"}, {Do: Settle, Text: "it comes back"}, {Do: Show, Text: "the group is whole again"}},
	}
}

func restart() Act {
	return Act{
		Title: "the broker starts again", Point: "the group is still there: nothing changes hands", Limit: settling, Assignor: cooperative, Cooperative: true,
		Steps: []Step{{Do: Restart, Text: "the broker ends, and starts on the same data"}, {Do: Settle, Text: "the broker is back"}, {Do: Show, Text: "the broker is back"}},
	}
}
