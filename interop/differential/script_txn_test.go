package differential

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/interop/internal/report"
	"github.com/skeinstream/skein/interop/kafka"
)

// TestOffsetsInTransactions plays the scripts of testdata/txn-offsets. They have
// the commands of the scripts about groups, and
//
//	producer NAME                                  InitProducerId
//	adds NAME                                      AddOffsetsToTxn, which TxnOffsetCommit does itself from version 5 on
//	txn NAME [as=] [of=] [plus=] [old=1] at=t/0@1  TxnOffsetCommit; "of" is whose generation is sent, "old" lowers the producer's epoch
//	ends NAME commit | abort                       EndTxn, and waits until it is complete
func TestOffsetsInTransactions(t *testing.T) {
	p := startPairWith(t, groupSettings())
	paths, err := filepath.Glob("testdata/txn-offsets/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for i, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			script, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			prefix := fmt.Sprintf("o%x-%d-", os.Getpid(), i)
			r := scriptReader{prefix: prefix, p: p, w: newWorld(uint64(i), prefix, p.ranges(), 0)}
			steps, err := r.txnSteps(string(script))
			if err != nil {
				t.Fatal(err)
			}
			if *answersFlag {
				p.trace = t.Logf
			}
			f, err := p.runCase(prefix, steps)
			switch {
			case err != nil:
				t.Fatal(err)
			case f != nil:
				t.Fatalf("the answers differ\n%s", f.script())
			case p.reached < len(steps) || len(p.skipped) > 0:
				t.Errorf("ended after step %d of %d, not asked: %q", p.reached, len(steps), p.skipped)
			}
		})
	}
	report.Note(t, report.Shown, "differential offsets in transactions", "%d steps answered as Kafka %s answers", p.steps, kafka.V4)
}

// txnSteps reads a script line by line: those about transactions here, all others as in scripts about groups.
func (r scriptReader) txnSteps(script string) (steps []step, err error) {
	for i, line := range strings.Split(script, "\n") {
		bare, _, _ := strings.Cut(line, "#")
		if strings.TrimSpace(bare) == "" {
			continue
		}
		s, mine := r.txnStep(parseCommand(bare))
		if mine {
			steps = append(steps, s)
			continue
		}
		others, err := r.steps(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		steps = append(steps, others...)
	}
	return steps, nil
}

func (r scriptReader) txnStep(c command) (step, bool) {
	switch c.verb {
	case "producer":
		return r.initProducer(c.who()), true
	case "adds":
		return r.addOffsets(c), true
	case "txn":
		return r.txnCommit(c), true
	case "ends":
		return r.endTxn(c), true
	}
	return step{}, false
}

// initProducer asks until there is a coordinator, and then once more, so that both sides are in the same epoch.
func (r scriptReader) initProducer(name string) step {
	id := r.name(name)
	ask := func() kmsg.Request {
		request := kmsg.NewPtrInitProducerIDRequest()
		request.Version, request.TransactionalID, request.TransactionTimeoutMillis = 4, &id, 60_000
		request.ProducerID, request.ProducerEpoch = -1, -1
		return request
	}
	return step{
		text: say("InitProducerId", 4, "%s", id),
		request: func(s *side) kmsg.Request {
			for end := time.Now().Add(oneSided); time.Now().Before(end); pause(20 * time.Millisecond) {
				find := kmsg.NewPtrFindCoordinatorRequest()
				find.Version, find.CoordinatorType, find.CoordinatorKeys = 4, 1, []string{id}
				if _, err := s.conn.exchange(find); err != nil {
					return nil
				}
				response, err := s.conn.exchange(ask())
				if err != nil {
					return nil
				}
				if response.(*kmsg.InitProducerIDResponse).ErrorCode == 0 {
					return ask()
				}
			}
			return nil
		},
		learn: func(s *side, response kmsg.Response) {
			answer := response.(*kmsg.InitProducerIDResponse)
			s.producers[name] = producer{answer.ProducerID, answer.ProducerEpoch}
		},
	}
}

func (r scriptReader) addOffsets(c command) step {
	name, group := c.who(), r.group(c)
	return step{
		text: say("AddOffsetsToTxn", 3, "%s %q", name, group),
		request: func(s *side) kmsg.Request {
			request, p := kmsg.NewPtrAddOffsetsToTxnRequest(), s.producers[name]
			request.Version, request.TransactionalID, request.Group = 3, r.name(name), group
			request.ProducerID, request.ProducerEpoch = p.id, p.epoch
			return request
		},
	}
}

func (r scriptReader) txnCommit(c command) step {
	name, of, places := c.who(), c.text("of", ""), c.text("at", "t/0@1")
	version, group, old := c.version(5), r.group(c), int16(c.number("old", 0))
	id, instance, plus := c.text("as", ""), c.text("instance", ""), int32(c.number("plus", 0))
	metadata := text{of: c.text("metadata", ""), times: int(c.number("repeat", 1))}
	return step{
		text: say("TxnOffsetCommit", version, "%s%+d as %q of %q%+d instance %q %q %s", name, -old, id, of, plus, instance, group, places),
		request: func(s *side) kmsg.Request {
			request, p := kmsg.NewPtrTxnOffsetCommitRequest(), s.producers[name]
			request.Version, request.TransactionalID, request.Group = version, r.name(name), group
			request.ProducerID, request.ProducerEpoch = p.id, p.epoch-old
			request.MemberID, request.InstanceID = s.cast.id(id), optional(instance)
			if of != "" {
				request.Generation = s.cast.player(of).generation + plus
			}
			for _, place := range listed(places) {
				topic, rest, _ := strings.Cut(place, "/")
				partition, offset, _ := strings.Cut(rest, "@")
				one := kmsg.NewTxnOffsetCommitRequestTopicPartition()
				one.Partition, one.Offset, one.Metadata = number32(partition), int64(number32(offset)), metadata.pointer()
				if n := len(request.Topics); n == 0 || request.Topics[n-1].Topic != r.name(topic) {
					request.Topics = append(request.Topics, kmsg.TxnOffsetCommitRequestTopic{Topic: r.name(topic)})
				}
				t := &request.Topics[len(request.Topics)-1]
				t.Partitions = append(t.Partitions, one)
			}
			return request
		},
	}
}

// endTxn ends a transaction. From version 5 on the producer is told its next epoch.
func (r scriptReader) endTxn(c command) step {
	name, commit, version := c.who(), c.words[1] == "commit", c.version(5)
	return step{
		text: say("EndTxn", version, "%s %s", name, c.words[1]),
		request: func(s *side) kmsg.Request {
			request, p := kmsg.NewPtrEndTxnRequest(), s.producers[name]
			request.Version, request.TransactionalID, request.Commit = version, r.name(name), commit
			request.ProducerID, request.ProducerEpoch = p.id, p.epoch
			return request
		},
		learn: func(s *side, response kmsg.Response) {
			if answer := response.(*kmsg.EndTxnResponse); answer.ErrorCode == 0 && answer.Version >= 5 {
				s.producers[name] = producer{answer.ProducerID, answer.ProducerEpoch}
			}
		},
		after: func(s *side, _ kmsg.Response) error { return s.completed(r.name(name)) },
	}
}

// completed waits until all markers of a transaction are written.
func (s *side) completed(id string) error {
	for end := time.Now().Add(oneSided); time.Now().Before(end); pause(10 * time.Millisecond) {
		request := kmsg.NewPtrDescribeTransactionsRequest()
		request.TransactionalIDs = []string{id}
		response, err := s.conn.exchange(request)
		if err != nil {
			return err
		}
		one := response.(*kmsg.DescribeTransactionsResponse).TransactionStates[0]
		if one.ErrorCode == kerr.TransactionalIDNotFound.Code || strings.HasPrefix(one.State, "Complete") || one.State == "Empty" {
			return nil
		}
	}
	return errors.New("a transaction is not completed")
}
