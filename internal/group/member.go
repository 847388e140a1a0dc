package group

import (
	"slices"
	"time"

	"github.com/skeinstream/skein/internal/deadline"
	"github.com/skeinstream/skein/internal/grouptags"
	"github.com/skeinstream/skein/internal/machine"
)

// member is one member of a group, as it last joined.
type member struct {
	id        string
	instance  *string // nil: dynamic
	clientID  string
	host      string
	session   time.Duration
	rebalance time.Duration
	// offers are the protocols that may be selected, in the member's order; withheld are those that it could offer but holds
	// back while it owns partitions (R-C15). An empty list is that of a member which would, nil of one which never does.
	offers, withheld []grouptags.Protocol
	assignment       []byte

	fresh      bool           // its first Join waits, so it does not know its id
	unsynced   bool           // it has not asked for the assignment of the generation
	join, sync parked         // at most one of both waits
	timer      deadline.Timer // of its session

	before, after *member // in roster
}

// parked is a caller who waits, and the version it speaks.
type parked struct {
	waits   bool
	token   machine.Token
	version int16
}

// take returns what waits and forgets it.
func (p *parked) take() (was parked) {
	was, *p = *p, parked{}
	return was
}

func (who *member) static() bool { return who.instance != nil }

// waits says whether a Join or Sync of the member is parked: then its session cannot end (R-K9).
func (who *member) waits() bool { return who.join.waits || who.sync.waits }

// metadata is what the member gave for a protocol.
func (who *member) metadata(protocol string) []byte {
	for _, list := range [][]grouptags.Protocol{who.offers, who.withheld} {
		if i := slices.IndexFunc(list, named(protocol)); i >= 0 {
			return list[i].Metadata
		}
	}
	return nil
}

// bytes is how much the member has told of itself.
func (who *member) bytes() int {
	return len(who.id) + len(who.instanceID()) + len(who.clientID) + bytesOf(who.offers) + bytesOf(who.withheld)
}

func bytesOf(list []grouptags.Protocol) (n int) {
	for _, p := range list {
		n += len(p.Name) + len(p.Metadata)
	}
	return n
}

func named(name string) func(grouptags.Protocol) bool {
	return func(p grouptags.Protocol) bool { return p.Name == name }
}

// instanceID is the instance id for people, "" for dynamic members.
func (who *member) instanceID() string { return text(who.instance) }
