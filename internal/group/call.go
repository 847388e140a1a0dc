package group

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// The inputs of a Machine's Step, and what answers each. Requests that name several groups come one group at a time; what
// concerns topics that do not exist has been answered by the caller. Versions matter: Request.Version is set.
type (
	// Join is answered by a *kmsg.JoinGroupResponse.
	Join struct {
		Request  *kmsg.JoinGroupRequest
		ClientID string
		// Host is the peer's address as descriptions show it: "/127.0.0.1".
		Host string
		// NewID is a fresh random UUID in Kafka's dashed text form; a new member's id ends with it.
		NewID string
	}
	// Sync is answered by a *kmsg.SyncGroupResponse.
	Sync struct{ Request *kmsg.SyncGroupRequest }
	// Heartbeat is answered by a *kmsg.HeartbeatResponse.
	Heartbeat struct{ Request *kmsg.HeartbeatRequest }
	// Leave is answered by a *kmsg.LeaveGroupResponse.
	Leave struct{ Request *kmsg.LeaveGroupRequest }
	// Commit is answered by a *kmsg.OffsetCommitResponse. Topics carry both name and id (zero: unknown).
	Commit struct{ Request *kmsg.OffsetCommitRequest }
	// Fetch asks for committed offsets; nil Topics are all. It is answered by a *kmsg.OffsetFetchResponseGroup, in whose
	// topics the name is set and the id as far as it is known.
	Fetch struct {
		Group         string
		Topics        []kmsg.OffsetFetchRequestGroupTopic
		All           bool
		RequireStable bool
	}
	// Describe is answered by a *kmsg.DescribeGroupsResponseGroup in the form of Version.
	Describe struct {
		Group   string
		Version int16
	}
	// List is answered by a []kmsg.ListGroupsResponseGroup: every group with its state and type.
	List struct{}
	// Delete deletes a group and is answered by an int16, the error code.
	Delete struct{ Group string }
	// DeleteOffsets is answered by a *kmsg.OffsetDeleteResponse.
	DeleteOffsets struct{ Request *kmsg.OffsetDeleteRequest }
	// TxnCommit is a commit within a transaction and is answered by a *kmsg.TxnOffsetCommitResponse. The partition of the
	// offsets topic is part of the transaction: whoever sends this has made sure of it, or has made it one. A marker may
	// overtake it on the way, so a Guard is asked for before that is done.
	TxnCommit struct {
		Request *kmsg.TxnOffsetCommitRequest
		Token   GuardToken
	}
	// Guard asks for the token of the TxnCommit that a producer is about to make, and is answered by a GuardToken.
	Guard struct {
		Group      string
		ProducerID int64
	}
	// DeleteTopics drops every offset of deleted topics. It is answered by nil.
	DeleteTopics struct{ Topics []string }
	// Topics asks for the names of all topics that offsets are kept for. It is answered by a []string.
	Topics struct{}
	// Count asks for numbers and is answered by Counts.
	Count struct{}
)

// GuardToken says which markers of a producer a machine had seen at a moment. A TxnCommit with one that has changed since is
// refused: the transaction that it belongs to may be over, and nothing would ever end it.
type GuardToken struct {
	life    *life
	markers uint64 // how many there were
}

// Counts are a machine's numbers for metrics.
type Counts struct {
	Groups  map[string]int // by state
	Members int
	Offsets int64
	Pending int64 // offsets of open transactions
	// Totals since the machine was made.
	Rebalances, Commits, Expired, Deleted int64
}

// Settings are the broker settings that groups obey. The zero value of a field is taken as it is: use the defaults of the
// settings package.
type Settings struct {
	MinSessionTimeout, MaxSessionTimeout time.Duration // group.min/max.session.timeout.ms
	InitialRebalanceDelay                time.Duration // group.initial.rebalance.delay.ms
	MaxSize                              int           // group.max.size
	OffsetsRetention                     time.Duration // offsets.retention.minutes
	OffsetsRetentionCheck                time.Duration // offsets.retention.check.interval.ms
	OffsetMetadataMax                    int           // offset.metadata.max.bytes, in UTF-16 units (K12)
	// UnionAdmission lets a member in with names that others hold back (R-C15). skein.group.union.admission
	UnionAdmission bool
	// ProtocolsPersisted keeps all names of all members in the log (R-C3). skein.group.persist.protocols
	ProtocolsPersisted bool
	// CommitOwnershipCheck refuses commits for partitions that the generation gave to another (R-C18).
	// skein.group.commit.ownership.check
	CommitOwnershipCheck bool
}
