package group

import (
	"math"
	"time"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/machine"
)

// offsetTotals count since the machine was made.
type offsetTotals struct{ commits, expired, deleted int64 }

// commit is OffsetCommit: one error for all partitions when the group refuses (R-D18, R-K12), else one each. Nothing
// changes here but the session of the committer: offsets do when the records are applied.
func (m *Machine) commit(now time.Time, r *kmsg.OffsetCommitRequest) (*kmsg.OffsetCommitResponse, []machine.Record) {
	g, by, code := m.committer(r)
	out, all := commitAnswer(r, code)
	if code != 0 {
		return out, nil
	}
	if by != nil {
		g.touch(by, now)
	}
	v := kmsg.NewOffsetCommitValue()
	v.CommitTimestamp = now.UnixMilli()
	v.Version, v.ExpireTimestamp = expiry(r, v.CommitTimestamp)
	return out, m.accept(commitment{name: r.Group, group: g, by: by}, v, all)
}

// committer is who commits to which group, or why nobody may. The group is nil where it is unknown and may become a simple
// one, nothing but a place for offsets: the first record makes it. The member is nil where none was asked for.
func (m *Machine) committer(r *kmsg.OffsetCommitRequest) (*Group, *member, int16) {
	if len(r.Group) > math.MaxInt16 {
		return nil, nil, kerr.InvalidGroupID.Code // no record could name it
	}
	g := m.group(r.Group)
	switch {
	case g != nil:
		by, code := g.committer(r)
		return g, by, code
	case r.Generation < 0:
		return nil, nil, 0
	case r.Version >= 9:
		return nil, nil, kerr.GroupIDNotFound.Code
	}
	return nil, nil, kerr.IllegalGeneration.Code
}

// committer is the fence of OffsetCommit, in Kafka's order (R-D18). Without a generation only an Empty group may be
// committed to, by whoever; with one, who commits must be of it. A rebalance that waits for members still takes commits of
// the generation that ends, so that they can commit before they join again (R-C12); one that waits for the assignment does not.
func (g *Group) committer(r *kmsg.OffsetCommitRequest) (*member, int16) {
	switch {
	case r.Generation < 0 && g.state == Empty:
		return nil, 0
	case r.Generation < 0 && r.MemberID == "" && r.InstanceID == nil:
		return nil, kerr.UnknownMemberID.Code
	}
	by, code := g.identity(r.MemberID, r.InstanceID)
	switch {
	case code != 0:
		return nil, code
	case r.Generation != g.generation:
		return nil, kerr.IllegalGeneration.Code
	case g.state == CompletingRebalance:
		return nil, kerr.RebalanceInProgress.Code
	}
	return by, 0
}

// commitment is a commit that a group accepts, of either kind.
type commitment struct {
	name  string // of the group
	group *Group // nil where it is unknown
	by    *member
	of    machine.Producer // in whose transaction; the zero value: in none
}

// asked is one offset of a commit, and where its code belongs.
type asked struct {
	topic       string
	id          [16]byte
	partition   int32
	offset      int64
	leaderEpoch int32
	metadata    *string
	code        *int16
}

// accept makes records of the offsets that can be taken, like v, and tells of each of the others why it cannot.
func (m *Machine) accept(c commitment, v kmsg.OffsetCommitValue, all []asked) []machine.Record {
	records := make([]machine.Record, 0, len(all))
	for _, a := range all {
		if refused := m.refusal(c.group, c.by, a.topic, a.partition, a.metadata); refused != 0 {
			*a.code = refused
			continue
		}
		v.TopicID, v.Offset, v.LeaderEpoch, v.Metadata = a.id, a.offset, a.leaderEpoch, text(a.metadata)
		record := offsetRecord(c.name, a.topic, a.partition, &v)
		record.Producer = c.of
		records = append(records, record)
	}
	m.totals.commits += int64(len(records))
	return records
}

// refusal is why one partition's offset is not taken although the group accepts the committer.
func (m *Machine) refusal(g *Group, by *member, topic string, partition int32, metadata *string) int16 {
	switch {
	case tooLong(text(metadata), m.settings.OffsetMetadataMax):
		return kerr.OffsetMetadataTooLarge.Code
	case m.settings.CommitOwnershipCheck && by != nil && g.ownedByOther(by, topic, partition):
		return kerr.IllegalGeneration.Code
	}
	return 0
}

// ownedByOther says whether the current generation gave a partition to another member. One that nobody has is free: its
// last owner commits it while it is being revoked (R-C18).
func (g *Group) ownedByOther(by *member, topic string, partition int32) bool {
	owner, found := g.assignedTo(topic, partition)
	return found && owner != by.id
}

// commitAnswer answers every partition of r, in its order, with code, and lists them.
func commitAnswer(r *kmsg.OffsetCommitRequest, code int16) (out *kmsg.OffsetCommitResponse, all []asked) {
	out = kmsg.NewPtrOffsetCommitResponse()
	out.Version = r.Version
	out.Topics = make([]kmsg.OffsetCommitResponseTopic, len(r.Topics))
	for i := range r.Topics {
		t, to := &r.Topics[i], &out.Topics[i]
		to.Topic, to.TopicID = t.Topic, t.TopicID
		to.Partitions = make([]kmsg.OffsetCommitResponseTopicPartition, len(t.Partitions))
		for j := range t.Partitions {
			p, place := &t.Partitions[j], &to.Partitions[j]
			place.Partition, place.ErrorCode = p.Partition, code
			all = append(all, asked{t.Topic, t.TopicID, p.Partition, p.Offset, p.LeaderEpoch, p.Metadata, &place.ErrorCode})
		}
	}
	return out, all
}

// expiry is the expiry that the old versions of the request can bring, and the version of the record that can keep it.
func expiry(r *kmsg.OffsetCommitRequest, now int64) (version int16, at int64) {
	keep := r.RetentionTimeMillis
	switch {
	case keep == noRetention || r.Version < 2 || r.Version > 4:
		return offsetValueVersion, noExpiry
	case keep > math.MaxInt64-now:
		return expiringValueVersion, math.MaxInt64
	}
	return expiringValueVersion, now + keep
}

// tooLong counts UTF-16 units, as Kafka does (R-K12). There are never more of them than bytes.
func tooLong(s string, limit int) bool {
	if len(s) <= limit {
		return false
	}
	units := utf8.RuneCountInString(s)
	for _, r := range s {
		if r > math.MaxUint16 {
			units++ // a surrogate pair
		}
	}
	return units > limit
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
