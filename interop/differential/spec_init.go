package differential

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// longTransaction is a timeout that no case lasts for.
const longTransaction = 900_000

// initSpec is an InitProducerId request of a transactional producer.
type initSpec struct {
	by      string
	id      string // the transactional id; null when ""
	version int16
	timeout int32
	// names says which producer id and epoch are sent: "": none; "own", or as for identity.
	names string
	half  string // "no id" or "no epoch" of them
	// zombie sends an epoch that is not the current one though a transaction is open, which Kafka aborts then.
	zombie bool
}

func (i initSpec) String() string {
	text := fmt.Sprintf("%s id %q timeout %d", i.by, i.id, i.timeout)
	if i.names != "" && i.version >= initRecovers {
		text += " names " + i.names + " " + i.half
	}
	if i.zombie {
		text += " " + zombieText
	}
	return text
}

// initRecovers is the first version with a producer id and epoch in the request.
const initRecovers = 3

func (i initSpec) step() step {
	return step{
		text: say("InitProducerId", i.version, "%s", i), again: true,
		request: func(s *side) kmsg.Request {
			request := kmsg.NewPtrInitProducerIDRequest()
			request.Version, request.TransactionalID, request.TransactionTimeoutMillis = i.version, optional(i.id), i.timeout
			p := i.who(s)
			if !i.zombie && i.hurts(s, p) {
				return nil
			}
			request.ProducerID, request.ProducerEpoch = p.id, p.epoch
			return request
		},
		learn: func(s *side, response kmsg.Response) {
			if r := response.(*kmsg.InitProducerIDResponse); r.ErrorCode == 0 {
				before := s.actor(i.by).producer
				s.became(i.by, i.id, producer{r.ProducerID, r.ProducerEpoch})
				if a := s.actor(i.by); a.producer != before {
					a.recovered = i.names != "" && i.version >= initRecovers
				}
			}
		},
		after: func(s *side, _ kmsg.Response) error { return s.settleTransaction(i.id) },
	}
}

func (i initSpec) who(s *side) producer {
	p := producer{-1, -1}
	if i.names != "" && i.version >= initRecovers {
		p = s.identity(i.by, i.names)
	}
	switch i.half {
	case "no id":
		p.id = -1
	case "no epoch":
		p.epoch = -1
	}
	return p
}

// hurts tells whether p is not the producer that it says it is. Kafka aborts its transaction, if one is open, nevertheless; and it
// takes the epoch before the current one for a retry, also of somebody else and when the current one has been used. We do not.
func (i initSpec) hurts(s *side, p producer) bool {
	t, err := s.transaction(i.id)
	now, last := producer{t.ProducerID, t.ProducerEpoch}, producer{t.ProducerID, t.ProducerEpoch - 1}
	if err != nil || p.id == -1 || p == now {
		return false
	}
	a := s.actor(i.by)
	again := a.producer == now && (a.raised || a.recovered)
	return t.State == "Ongoing" || p == last && !again
}
