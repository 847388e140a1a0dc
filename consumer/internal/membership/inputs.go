package membership

import (
	"time"

	"github.com/skeinstream/skein/assign"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Input is something that happened.
type Input interface{ input() }

type (
	// Subscribed is the user's wish. Of a pattern, Topics are those that match now, and Matches tells whether one that the
	// leader knows of already does (R-B8); for a list it is nil. No topics and no Matches end the subscription.
	Subscribed struct {
		Topics  []string
		Matches func(topic string) bool
	}
	// Polled says that the user has come for records, or still waits for some: one that waits is not away (R-B11). At is when, if that is
	// some time ago; the zero time is now.
	Polled struct{ At time.Time }
	// Called says that the callback which was asked for has ended.
	Called struct{ Err error }
	// Metadata is what the cluster has of the topics of the group; those that were asked for and are not there do not exist.
	Metadata struct{ Topics []assign.Topic }
	// Rejoin is the user's wish for a rebalance.
	Rejoin struct{ Reason string }
	// Close ends the membership for good.
	Close struct{}

	// Answered is the answer to the request with that number, or why there is none.
	Answered struct {
		ID       uint64
		Response kmsg.Response
		Err      error
	}
	// CommitRefused is an error code of a commit that was sent as that member of that generation.
	CommitRefused struct {
		Code       int16
		Generation int32
		Member     string
	}
)

func (Subscribed) input()    {}
func (Polled) input()        {}
func (Called) input()        {}
func (Metadata) input()      {}
func (Rejoin) input()        {}
func (Close) input()         {}
func (Answered) input()      {}
func (CommitRefused) input() {}
