package group

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/grouptags"
	"github.com/skeinstream/skein/internal/machine"
)

// recordLines is a record in words: a group's metadata member by member.
func recordLines(r machine.Record) []string {
	version, _ := keyVersion(r.Key)
	if isOffsetKey(version) || r.Value == nil {
		return []string{describeRecord(r)}
	}
	v := kmsg.NewGroupMetadataValue()
	if err := v.ReadFrom(r.Value); err != nil {
		return []string{err.Error()}
	}
	lines := []string{fmt.Sprintf("version %d, %q, generation %d, protocol %q, leader %q", v.Version, v.ProtocolType, v.Generation, text(v.Protocol), text(v.Leader))}
	for i := range v.Members {
		m := &v.Members[i]
		line := fmt.Sprintf("  %s/%s %s %s rebalance %d session %d %q %q", m.MemberID, text(m.InstanceID), m.ClientID, m.ClientHost,
			m.RebalanceTimeoutMillis, m.SessionTimeoutMillis, m.Subscription, m.Assignment)
		m.UnknownTags.Each(func(key uint32, b []byte) { line += fmt.Sprintf(" %d:%s", key, protocolLine(b)) })
		lines = append(lines, line)
	}
	return lines
}

func protocolLine(b []byte) string {
	list, err := grouptags.ReadProtocols(b)
	if err != nil {
		return err.Error()
	}
	line := ""
	for _, p := range list {
		line += " " + p.Name
		if p.Metadata != nil {
			line += fmt.Sprintf("=%q", p.Metadata)
		}
	}
	return line
}

// history reads it as the command line does: from the tagged field of a description.
func (st *stage) history(group string) (lines []string) {
	st.described(group, 5).UnknownTags.Each(func(_ uint32, b []byte) {
		all, err := grouptags.ReadHistory(b)
		if err != nil {
			st.t.Fatalf("%v", err)
		}
		for _, h := range all {
			lines = append(lines, fmt.Sprintf("%v generation %d: %v, %s/%s of %s %q; %q, %d members, joins %v, syncs %v", h.Started.Sub(st.start),
				h.Number, h.Cause, h.MemberID, h.InstanceID, h.ClientID, h.Reason, h.Protocol, h.Members, h.Joining, h.Syncing))
		}
	})
	return lines
}

func (st *stage) described(group string, version int16) *kmsg.DescribeGroupsResponseGroup {
	st.token++
	st.waiting[st.token] = call{}
	out := st.m.Step(st.now, st.token, Describe{Group: group, Version: version})
	delete(st.waiting, st.token)
	return out.Replies[0].Value.(*kmsg.DescribeGroupsResponseGroup)
}

// lists reads what members offer and hold back, likewise. Version 4 has no room for it.
func (st *stage) lists(group string) (lines []string) {
	for _, m := range st.described(group, 4).Members {
		m.UnknownTags.Each(func(tag uint32, _ []byte) { st.t.Fatalf("version 4 has the field %d", tag) })
	}
	for _, m := range st.described(group, 5).Members {
		line := m.MemberID
		m.UnknownTags.Each(func(tag uint32, b []byte) {
			names, err := grouptags.ReadNames(b)
			if err != nil {
				st.t.Fatalf("%v", err)
			}
			line += fmt.Sprintf(" %s%s", map[uint32]string{grouptags.DescribeOffers: "offers ", grouptags.DescribeWithheld: "; holds back "}[tag], strings.Join(names, ","))
		})
		lines = append(lines, line)
	}
	return lines
}

func describeRecords(records []machine.Record) (lines []string) {
	for _, r := range records {
		lines = append(lines, describeRecord(r))
	}
	return lines
}

func describeRecord(r machine.Record) string {
	version, _ := keyVersion(r.Key)
	what := "group"
	if isOffsetKey(version) {
		k, err := readOffsetKey(r.Key)
		what = fmt.Sprintf("offset of %s in %s/%d (%v)", k.Group, k.Topic, k.Partition, err)
		what = strings.TrimSuffix(what, " (<nil>)")
	}
	if r.Value == nil {
		return what + ": tombstone"
	}
	if !isOffsetKey(version) {
		return what + ": metadata"
	}
	if of := r.Producer; of.Transactional {
		what += fmt.Sprintf(" by %d.%d", of.ID, of.Epoch)
	}
	return fmt.Sprintf("%s: version %d", what, r.Value[1])
}
