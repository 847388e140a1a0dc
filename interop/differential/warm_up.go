package differential

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// warmUp waits until the broker gives producer ids, which Kafka does a moment
// after its start.
func (s *side) warmUp() error {
	for range 500 {
		request := kmsg.NewPtrInitProducerIDRequest()
		request.ProducerID, request.ProducerEpoch, request.TransactionTimeoutMillis = -1, -1, 60_000
		response, err := s.conn.exchange(request)
		if err != nil {
			return fmt.Errorf("warming up %s: %w", s.name, err)
		}
		if response.(*kmsg.InitProducerIDResponse).ErrorCode == 0 {
			return s.warmUpGroups()
		}
		pause(20 * time.Millisecond)
	}
	return fmt.Errorf("%s gives no producer ids", s.name)
}

// warmUpGroups waits until groups have their coordinators, whose topic is
// created when it is first needed and which then load.
func (s *side) warmUpGroups() error {
	for range 500 {
		request := kmsg.NewPtrOffsetFetchRequest()
		request.Version, request.Groups = 8, make([]kmsg.OffsetFetchRequestGroup, 20)
		for i := range request.Groups {
			request.Groups[i].Group = fmt.Sprint("warm up ", i)
		}
		found, err := s.findsCoordinators()
		if err != nil {
			return fmt.Errorf("warming up %s: %w", s.name, err)
		}
		response, err := s.conn.exchange(request)
		if err != nil {
			return fmt.Errorf("warming up %s: %w", s.name, err)
		}
		if found && !slices.ContainsFunc(response.(*kmsg.OffsetFetchResponse).Groups, func(g kmsg.OffsetFetchResponseGroup) bool { return g.ErrorCode != 0 }) {
			return errors.Join(s.warmUpTransactions(), s.warmUpRound())
		}
		pause(20 * time.Millisecond)
	}
	return fmt.Errorf("%s does not coordinate groups", s.name)
}

// findsCoordinators asks for those of groups and of transactions.
func (s *side) findsCoordinators() (bool, error) {
	for kind := range int8(2) {
		find := kmsg.NewPtrFindCoordinatorRequest()
		find.Version, find.CoordinatorType, find.CoordinatorKey = 1, kind, "warm up"
		response, err := s.conn.exchange(find)
		if err != nil {
			return false, err
		}
		if code := response.(*kmsg.FindCoordinatorResponse).ErrorCode; code == 14 || code == 15 {
			return false, nil
		}
	}
	return true, nil
}

// warmUpRound takes a member through a first round, which is slow in a broker
// that has just been started.
func (s *side) warmUpRound() error {
	defer s.forget("")
	steps := []step{
		joinSpec{by: "warm", group: "warm up", version: 3, kind: "consumer", offers: []offer{{name: "range"}}}.step(),
		syncSpec{by: "warm", group: "warm up", version: 3, id: "warm", assign: "all"}.step(),
		leaveSpec{group: "warm up", version: 3, members: []leaver{{id: "warm"}}}.step(),
		deleteGroupsSpec{version: 1, groups: []string{"warm up"}}.step(),
	}
	for _, one := range steps {
		if o := one.run(s); o.err != nil {
			return fmt.Errorf("warming up %s: %w", s.name, o.err)
		}
	}
	return nil
}

// warmUpTransactions waits until all transactional ids have coordinators.
func (s *side) warmUpTransactions() error {
	request := kmsg.NewPtrDescribeTransactionsRequest()
	for i := range 400 {
		request.TransactionalIDs = append(request.TransactionalIDs, fmt.Sprint("warm up ", i))
	}
	for range 500 {
		response, err := s.conn.exchange(request)
		if err != nil {
			return fmt.Errorf("warming up %s: %w", s.name, err)
		}
		if !slices.ContainsFunc(response.(*kmsg.DescribeTransactionsResponse).TransactionStates, func(t kmsg.DescribeTransactionsResponseTransactionState) bool {
			return t.ErrorCode != kerr.TransactionalIDNotFound.Code
		}) {
			return nil
		}
		pause(20 * time.Millisecond)
	}
	return fmt.Errorf("%s does not coordinate transactions", s.name)
}
