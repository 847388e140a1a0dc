package group

import (
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/machine"
)

// The versions of TxnOffsetCommit from which a client knows what TRANSACTION_ABORTABLE means, and names topics by id and is told
// that its group is unknown.
const (
	firstAbortable     = 4
	firstTxnCommitByID = 6
)

// guard is Guard. How many markers there are by now says it for every producer.
func (m *Machine) guard() GuardToken { return GuardToken{life: m.life, markers: m.producers.markers} }

// txnCommit is TxnOffsetCommit: one error for all partitions when it is refused, else one each (R-D27, R-K20). It is no
// sign of life of the member (R-K8).
func (m *Machine) txnCommit(now time.Time, in TxnCommit) (*kmsg.TxnOffsetCommitResponse, []machine.Record) {
	r := in.Request
	g, by, code := m.txnCommitter(in)
	out, all := txnCommitAnswer(r, code)
	if code != 0 {
		return out, nil
	}
	v := kmsg.NewOffsetCommitValue()
	v.Version, v.CommitTimestamp, v.ExpireTimestamp = offsetValueVersion, now.UnixMilli(), noExpiry
	of := machine.Producer{Transactional: true, ID: r.ProducerID, Epoch: r.ProducerEpoch}
	return out, m.accept(commitment{name: r.Group, group: g, by: by, of: of}, v, all)
}

// txnCommitter is who commits to which group, or why nobody may: first the checks of the producer, as the log would make
// them, then those of the group (R-K19). The group is nil where it is unknown and becomes a simple one.
func (m *Machine) txnCommitter(in TxnCommit) (*Group, *member, int16) {
	r := in.Request
	if r.Group == "" || len(r.Group) > math.MaxInt16 {
		return nil, nil, kerr.InvalidGroupID.Code
	}
	if code := m.unverified(in); code != 0 {
		return nil, nil, code
	}
	g := m.group(r.Group)
	switch {
	case g != nil:
		by, code := g.txnCommitter(r)
		return g, by, code
	case r.Generation < 0:
		return nil, nil, 0
	case r.Version >= firstTxnCommitByID:
		return nil, nil, kerr.GroupIDNotFound.Code
	}
	return nil, nil, kerr.IllegalGeneration.Code
}

// unverified is why a commit cannot be one of its producer's transaction as far as it is known here, 0 when it can. After
// the machine was made anew nothing is known of what came between; the client is to try again, and the guard with it.
func (m *Machine) unverified(in TxnCommit) int16 {
	r := in.Request
	known := &m.producers
	switch {
	case r.ProducerEpoch < known.epoch(r.ProducerID):
		return kerr.InvalidProducerEpoch.Code
	case in.Token.life != m.life:
		return kerr.NotCoordinator.Code
	case known.last(r.ProducerID).marker <= in.Token.markers:
		return 0
	case r.Version >= firstAbortable:
		return kerr.TransactionAbortable.Code
	}
	return kerr.InvalidTxnState.Code
}

// txnCommitter is the fence of TxnOffsetCommit, in Kafka's order (R-D24). Producers that say nothing about a member are let
// in whatever the state; all others must be of the generation. Unlike plain commits these are taken while the group waits
// for its assignment.
func (g *Group) txnCommitter(r *kmsg.TxnOffsetCommitRequest) (*member, int16) {
	if r.Generation < 0 && (g.state == Empty || r.MemberID == "" && r.InstanceID == nil) {
		return nil, 0
	}
	by, code := g.identity(r.MemberID, r.InstanceID)
	if code == 0 && r.Generation != g.generation {
		return nil, kerr.IllegalGeneration.Code
	}
	return by, code
}

// txnCommitAnswer answers every partition of r, in its order, with code, and lists them.
func txnCommitAnswer(r *kmsg.TxnOffsetCommitRequest, code int16) (out *kmsg.TxnOffsetCommitResponse, all []asked) {
	out = kmsg.NewPtrTxnOffsetCommitResponse()
	out.Version = r.Version
	out.Topics = make([]kmsg.TxnOffsetCommitResponseTopic, len(r.Topics))
	for i := range r.Topics {
		t, to := &r.Topics[i], &out.Topics[i]
		to.Topic, to.TopicID = t.Topic, t.TopicID
		to.Partitions = make([]kmsg.TxnOffsetCommitResponseTopicPartition, len(t.Partitions))
		for j := range t.Partitions {
			p, place := &t.Partitions[j], &to.Partitions[j]
			place.Partition, place.ErrorCode = p.Partition, code
			all = append(all, asked{t.Topic, t.TopicID, p.Partition, p.Offset, p.LeaderEpoch, p.Metadata, &place.ErrorCode})
		}
	}
	return out, all
}
