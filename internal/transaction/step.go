package transaction

import "time"

// Act is what a Step asks for.
type Act uint8

const (
	// Return ends the call, with Step.Err.
	Return Act = iota
	// Load asks the client library for the producer id and epoch of now, which it may have to ask the coordinator for.
	Load
	// Open has the client library begin a transaction. Nothing is sent.
	Open
	// Drain waits until every record that was handed over has its answer.
	Drain
	// Discard gives up records that wait, and waits for the answers of those that are on their way.
	Discard
	// AddOffsets sends AddOffsetsToTxn for Step.Group.
	AddOffsets
	// CommitOffsets sends TxnOffsetCommit for Step.Group, in a version up to Step.Version.
	CommitOffsets
	// End has the client library end the transaction, as Step.Commit says. It sends EndTxn once, if it knows of something to end; after a
	// failure it aborts by asking for a new epoch.
	End
	// EndByHand sends EndTxn beside the client library, with the id and epoch of the transaction, in exactly Step.Version, or, of versions
	// before 5, the newest there is.
	EndByHand
	// Look asks with DescribeTransactions whose transaction is open. One that is being ended is asked for until it has.
	Look
	// Fence sends InitProducerId beside the client library, with the id and epoch of the transaction. It ends what is open.
	Fence
	// Renew puts a new client in the place of one that cannot go on.
	Renew
	// Pause waits for Step.Wait.
	Pause
)

// Step is what is to be done next.
type Step struct {
	Act     Act
	Commit  bool          // End, EndByHand
	Group   Group         // AddOffsets, CommitOffsets
	Version int16         // CommitOffsets, EndByHand
	Wait    time.Duration // Pause
	Err     error         // Return: an *Error, or nil
	// ID and Epoch are those of the transaction, for what is sent by hand.
	ID    int64
	Epoch int16
}

// Answer is what came of a Step.
type Answer struct {
	// Err is nil, or wraps a *kerr.Error with which the broker has answered, or says why there is no answer: then it is not known whether
	// what was sent was carried out.
	Err error
	// Over says that the caller waits no longer.
	Over bool
	// ID and Epoch are what Load found, and Look.
	ID    int64
	Epoch int16
	// Ongoing says, after Look, that they have a transaction open.
	Ongoing bool
	// Implicit says, after Load, that partitions come into transactions by themselves, and that EndTxn raises the epoch (KIP-890).
	Implicit bool
	// Refused are the errors of partitions, after CommitOffsets.
	Refused []error
	// Version is the one in which CommitOffsets was sent.
	Version int16
	// unsent says that the caller has gone while nothing was on its way.
	unsent bool
}

// lost says that something was sent of which nobody knows whether it was carried out.
func (a Answer) lost() bool { return a.Err != nil && codeOf(a.Err) == nil && !a.unsent }

// Versions of requests.
const (
	// fencedSince is the TxnOffsetCommit of Kafka 2.5, which names member and generation (KIP-447).
	fencedSince = 3
	// explicit is the newest version of TxnOffsetCommit and EndTxn before KIP-890: partitions have to be added first, the epoch stays.
	explicit = 4
	// implicit is the version of both with KIP-890.
	implicit = 5
)

const (
	pauseMin = 20 * time.Millisecond
	pauseMax = time.Second
)

// pause is how long to wait before a request is tried again for the nth time.
func pause(n int) time.Duration {
	return min(pauseMin<<min(n, 10), pauseMax)
}
