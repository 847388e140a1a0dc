// Package upgrade judges rolling restarts of a consumer group before they are done: which protocol a group runs and who holds it
// there, and what becomes of it when its members are restarted, one after the other, with another list of assignors.
//
// It knows nothing but lists. What a coordinator makes of them is R-C1, R-C2 and R-C15 (coordinator.go), what a member does with
// the selection is R-B1 and R-C11 to R-C14 (member.go); a restart is played through by these (play.go), and the row of the matrix
// M1 to M23 that it is says whether it is safe (rows.go). Kafka tells less of a group than our broker: then an answer is [Maybe],
// with what it hangs on.
package upgrade

import (
	"errors"
	"slices"
)

// Group is a group as its broker describes it while it is Stable.
type Group struct {
	Name     string
	Assignor string // selected
	Members  []Member
	Broker   Broker
	// Consumer: the group runs the new protocol (KIP-848), and the coordinator assigns.
	Consumer bool
	// Names are assignors that this package does not know: true for those that support COOPERATIVE.
	Names Names

	all Names // with those that are known anyway
}

// Broker is what of a broker counts here.
type Broker struct {
	// Skein: it tells the lists of members.
	Skein bool `json:"skein"`
	// Union: it admits by what members hold back, too (R-C15).
	Union bool `json:"union_admission"`
	// Remembers: it has the whole lists after a restart (R-C3).
	Remembers bool `json:"persists_protocols"`
	// Ownership: it refuses commits for partitions of others (R-C18).
	Ownership bool `json:"commit_ownership_check"`
	// Consumer: it has groups of the new protocol.
	Consumer bool `json:"consumer_groups"`
}

// Member is one member as it last joined.
type Member struct {
	ID     string
	Static bool // it has a group.instance.id
	// Offers are the names in its list, and Withholds those that it holds back (R-C12). Where the broker tells no lists (Listed
	// is false), Offers is the selected name alone.
	Offers, Withholds []string
	Listed            bool
	// Follows: its protocol follows the selection, and it would hold back what it has to. Only our consumer says so.
	Follows bool
	// Claims are how many partitions it said it owned when it joined: only a COOPERATIVE member has any to claim.
	Claims int
	// Version is that of its subscription. Code from before Kafka 2.4 writes 0, and has no cooperative assignor.
	Version int16
}

// Client is whose code members run.
type Client string

const (
	// Skein's consumer follows the assignor that is selected, and holds EAGER ones back while it owns anything (R-C11, R-C12).
	Skein Client = "skein"
	// Stock is every client whose protocol is fixed by its list when it starts, as Kafka's own is (R-B1).
	Stock Client = "stock"
)

// Target is what members are restarted with.
type Target struct {
	Client Client   `json:"client"`
	List   []string `json:"assignors"`
	// Consumer: with group.protocol=consumer (KIP-848), which has no list.
	Consumer bool `json:"consumer_protocol,omitempty"`
}

// The lists that clients have when nothing is configured.
var (
	skeinDefault = []string{"cooperative-sticky", "range"}
	javaDefault  = []string{"range", "cooperative-sticky"} // from Kafka 3.0 on
	oldDefault   = []string{"range"}                       // up to Kafka 2.8
)

// Named returns the target of a name: skein, java and old are the defaults of our consumer, of Kafka's since 3.0, and of
// those before; consumer is the new protocol.
func Named(name string) (Target, bool) {
	switch name {
	case "skein":
		return Target{Client: Skein, List: slices.Clone(skeinDefault)}, true
	case "java":
		return Target{Client: Stock, List: slices.Clone(javaDefault)}, true
	case "old":
		return Target{Client: Stock, List: slices.Clone(oldDefault)}, true
	case "consumer":
		return Target{Client: Stock, Consumer: true}, true
	}
	return Target{}, false
}

// Protocols of a group (R-B1). Mixed is the time between: some members run one, some the other.
const (
	Eager       = "EAGER"
	Cooperative = "COOPERATIVE"
	Mixed       = "mixed"
	Untold      = "" // the broker does not tell enough
)

// Answer is how sure something is.
type Answer string

const (
	No    Answer = "no"
	Maybe Answer = "maybe"
	Yes   Answer = "yes"
)

// Usual are the restarts that most are about: our consumer, Kafka's as it comes, the second step of Kafka's way, and back to
// old code.
func Usual() []Target {
	return []Target{
		{Client: Skein, List: slices.Clone(skeinDefault)}, {Client: Stock, List: slices.Clone(javaDefault)},
		{Client: Stock, List: []string{"cooperative-sticky"}}, {Client: Stock, List: slices.Clone(oldDefault)},
	}
}

// Errors of a target.
var (
	errNoNames = errors.New("a list has at least one assignor")
	errTwice   = errors.New("an assignor is there twice")
)

// Check says what is wrong with a target.
func (t Target) Check() error {
	if len(t.List) == 0 && !t.Consumer || slices.Contains(t.List, "") {
		return errNoNames
	}
	if sorted := slices.Sorted(slices.Values(t.List)); len(slices.Compact(sorted)) < len(t.List) {
		return errTwice
	}
	return nil
}
