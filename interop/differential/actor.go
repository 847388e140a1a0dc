package differential

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// actor is a transactional producer of a case on one side. Several may share a transactional id and fence each other.
type actor struct {
	producer          // who it is, as it was told last; −1 before
	before   producer // who it was until then
	next     map[string]int32
	// inside are the partitions that its transaction has, as far as it was told. Elsewhere it sends no sequence but the one
	// that is due: Kafka remembers those of batches that it refuses (R-K32).
	inside map[string]bool
	// refused are the least sequences of batches that were refused there for want of a transaction. Above them Kafka finds
	// everything out of order (R-K32).
	refused map[string]int32
	sent    int32 // the sequence of the batch that is under way
	// raised: its epoch comes from the end of a transaction, so that the one before may come again.
	raised bool
	// recovered: its epoch comes from an InitProducerId that said who it was, which may come again too.
	recovered bool
}

// nobodysProducer is an id that no broker gave.
const nobodysProducer = 1 << 40

func (s *side) actor(name string) *actor {
	a, ok := s.actors[name]
	if !ok {
		a = &actor{producer: producer{-1, -1}, before: producer{-1, -1}, next: make(map[string]int32), inside: make(map[string]bool), refused: make(map[string]int32)}
		s.actors[name] = a
	}
	return a
}

// became notes who an actor is from here on.
func (s *side) became(name, transactional string, p producer) {
	a := s.actor(name)
	if _, known := s.pids[p.id]; !known {
		s.named[transactional]++
		s.pids[p.id] = fmt.Sprintf("%s#%d", transactional, s.named[transactional])
	}
	if p != a.producer {
		a.before, a.producer, a.raised, a.recovered = a.producer, p, false, false
		clear(a.next)
		clear(a.inside)
		clear(a.refused)
	}
}

// identity resolves whom a request names: "" the actor as it is, or somebody who must not.
func (s *side) identity(name, who string) producer {
	a := s.actor(name)
	switch who {
	case "before":
		return a.before
	case "older":
		return producer{a.id, a.epoch - 1}
	case "newer":
		return producer{a.id, a.epoch + 1}
	case nobody:
		return producer{nobodysProducer, a.epoch}
	}
	return a.producer
}

// concurrent tells whether Kafka is still writing the markers of the transaction before: the client is to come again.
func concurrent(response kmsg.Response) bool {
	const code = 51
	switch r := response.(type) {
	case *kmsg.InitProducerIDResponse:
		return r.ErrorCode == code
	case *kmsg.AddOffsetsToTxnResponse:
		return r.ErrorCode == code
	case *kmsg.EndTxnResponse:
		return r.ErrorCode == code
	case *kmsg.TxnOffsetCommitResponse:
		return len(r.Topics) > 0 && r.Topics[0].Partitions[0].ErrorCode == code
	case *kmsg.AddPartitionsToTxnResponse:
		if len(r.Topics) > 0 {
			return r.Topics[0].Partitions[0].ErrorCode == code
		}
		for _, t := range r.Transactions {
			if len(t.Topics) > 0 && t.Topics[0].Partitions[0].ErrorCode == code {
				return true
			}
		}
	}
	return false
}

// comeAgain has a request answered once nothing is concurrent to it.
func (s *side) comeAgain(request kmsg.Request) (kmsg.Response, error) {
	for end := time.Now().Add(oneSided); ; pause(2 * time.Millisecond) {
		response, err := s.ask(request)
		if err != nil || !concurrent(response) || time.Now().After(end) {
			return response, err
		}
		s.cameAgain++
	}
}

// transaction is what the coordinator says of a transactional id.
func (s *side) transaction(id string) (kmsg.DescribeTransactionsResponseTransactionState, error) {
	request := kmsg.NewPtrDescribeTransactionsRequest()
	request.TransactionalIDs = []string{id}
	response, err := s.conn.exchange(request)
	if err != nil {
		return kmsg.DescribeTransactionsResponseTransactionState{}, err
	}
	return response.(*kmsg.DescribeTransactionsResponse).TransactionStates[0], nil
}

// settleTransaction waits until no markers are being written, after which all that they change has changed: offsets count, and
// the last stable offset has moved.
func (s *side) settleTransaction(id string) error {
	for end := time.Now().Add(oneSided); time.Now().Before(end); pause(2 * time.Millisecond) {
		t, err := s.transaction(id)
		if err != nil || t.State != "PrepareCommit" && t.State != "PrepareAbort" {
			return err
		}
	}
	return fmt.Errorf("the transaction of %s does not end", id)
}
