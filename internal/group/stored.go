package group

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/grouptags"
	"github.com/skeinstream/skein/internal/machine"
)

// The record of a group's metadata (docs/format/consumer-offsets.md). It is written when a group is made, when the leader has
// assigned, when a static member is replaced and when nobody is left (R-K10).
//
// Kafka keeps, of what a member offers, only the protocol that was selected. After a restart its groups refuse newcomers
// that share another one, and take a member that joins again as it always did for one that has changed (R-C3, R-K11). We
// write version 4, which Kafka reads since 3.5 but does not write, and put all protocols in a tagged field of each member.
const (
	groupKeyVersion = 2
	// groupValueKafka is what Kafka 4.4 writes, groupValueTagged the first with tagged fields.
	groupValueKafka  = 3
	groupValueTagged = 4
)

// keyVersion is the number that a key of the offsets topic begins with.
func keyVersion(key []byte) (int16, bool) {
	if len(key) < 2 {
		return 0, false
	}
	return int16(binary.BigEndian.Uint16(key)), true
}

func groupKey(name string) []byte {
	k := kmsg.GroupMetadataKey{Version: groupKeyVersion, Group: name}
	return k.AppendTo(nil)
}

// groupTombstone is the record that takes a group away.
func groupTombstone(name string) machine.Record { return machine.Record{Key: groupKey(name)} }

// record is the group as it is to be found after a restart.
func (g *Group) record() machine.Record {
	v := kmsg.NewGroupMetadataValue()
	v.Version = groupValueKafka
	if g.m.settings.ProtocolsPersisted {
		v.Version = groupValueTagged
	}
	v.ProtocolType, v.Generation, v.Protocol = g.protocolType, g.generation, g.protocol
	v.CurrentStateTimestamp = g.stateSince.UnixMilli()
	if g.leader != nil {
		v.Leader = &g.leader.id
	}
	v.Members = make([]kmsg.GroupMetadataValueMember, 0, g.members.len())
	for who := range g.members.all() {
		v.Members = append(v.Members, g.storedMember(who, v.Version))
	}
	return machine.Record{Key: groupKey(g.name), Value: v.AppendTo(nil)}
}

func (g *Group) storedMember(who *member, version int16) kmsg.GroupMetadataValueMember {
	v := kmsg.NewGroupMetadataValueMember()
	v.MemberID, v.InstanceID, v.ClientID, v.ClientHost = who.id, who.instance, who.clientID, who.host
	v.RebalanceTimeoutMillis, v.SessionTimeoutMillis = int32(who.rebalance.Milliseconds()), int32(who.session.Milliseconds())
	v.Subscription, v.Assignment = who.metadata(*g.protocol), who.assignment
	if version >= groupValueTagged {
		v.UnknownTags.Set(grouptags.StoredOffers, storedProtocols(who.offers, v.Subscription))
		if who.withheld != nil {
			v.UnknownTags.Set(grouptags.StoredWithheld, storedProtocols(who.withheld, v.Subscription))
		}
	}
	return v
}

// storedProtocols leaves out metadata that are those of the selected protocol, which are in the record anyway.
func storedProtocols(list []grouptags.Protocol, selected []byte) []byte {
	short := make([]grouptags.Protocol, len(list))
	for i, p := range list {
		short[i] = p
		if bytes.Equal(p.Metadata, selected) {
			short[i].Metadata = nil
		} else if p.Metadata == nil {
			short[i].Metadata = []byte{}
		}
	}
	return grouptags.AppendProtocols(nil, short)
}

// applyGroup takes over what the log says about a group. The bytes are kept as they are: only a start reads them.
func (m *Machine) applyGroup(r machine.Record) error {
	var k kmsg.GroupMetadataKey
	if err := k.ReadFrom(r.Key); err != nil {
		return fmt.Errorf("reading the key of a group: %w", err)
	}
	g := m.group(k.Group)
	if r.Value == nil {
		if g != nil {
			g.stored = nil
			if g.state == Empty && g.offsets.empty() {
				g.discard()
			}
		}
		return nil
	}
	if version, ok := keyVersion(r.Value); !ok || version < 0 || version > groupValueTagged {
		return fmt.Errorf("unknown version %d of group metadata", version)
	}
	if g == nil {
		g = m.groupForCommit(strings.Clone(k.Group))
	}
	g.stored = bytes.Clone(r.Value)
	return nil
}

// load makes the group what its last record says (R-D16).
func (g *Group) load() {
	if g.stored == nil {
		if g.offsets.empty() {
			g.discard() // an offset was committed and taken away again
		}
		return
	}
	v := kmsg.NewGroupMetadataValue()
	if err := v.ReadFrom(g.stored); err != nil {
		g.m.note(slog.LevelWarn, "group metadata cannot be read; the group begins anew", slog.String("group", g.name), slog.String("error", err.Error()))
		return
	}
	g.protocolType, g.generation, g.protocol = v.ProtocolType, v.Generation, v.Protocol
	if v.CurrentStateTimestamp >= 0 {
		g.stateSince = time.UnixMilli(v.CurrentStateTimestamp)
	}
	if len(v.Members) > 0 {
		g.loadMembers(&v)
	}
	g.readSubscribed()
}

// loadMembers takes over a generation whose members were told of it.
func (g *Group) loadMembers(v *kmsg.GroupMetadataValue) {
	none := ""
	if g.protocol == nil {
		g.protocol = &none
	}
	for i := range v.Members {
		if m := &v.Members[i]; g.members.byID[m.MemberID] == nil && (m.InstanceID == nil || g.members.byInstance[*m.InstanceID] == nil) {
			g.loadMember(m)
		}
	}
	g.leader = g.members.first
	if leads := g.members.byID[text(v.Leader)]; leads != nil {
		g.leader = leads
	}
	g.state, g.assigned = Stable, true
	g.remember(grouptags.Generation{
		Number: g.generation, Cause: grouptags.Loaded, Protocol: *g.protocol, Members: int32(g.members.len()), Started: g.m.now, Joining: -1, Syncing: -1,
	})
	if g.members.len() > g.m.settings.MaxSize {
		g.rebalance(cause{what: grouptags.OverSize})
	}
}

func (g *Group) loadMember(v *kmsg.GroupMetadataValueMember) {
	who := &member{
		id: v.MemberID, instance: v.InstanceID, clientID: v.ClientID, host: v.ClientHost, assignment: v.Assignment,
		session: time.Duration(v.SessionTimeoutMillis) * time.Millisecond, rebalance: time.Duration(v.RebalanceTimeoutMillis) * time.Millisecond,
	}
	if v.RebalanceTimeoutMillis < 0 {
		who.rebalance = who.session
	}
	who.offers = []grouptags.Protocol{{Name: *g.protocol, Metadata: v.Subscription}}
	v.UnknownTags.Each(func(key uint32, b []byte) {
		list, err := grouptags.ReadProtocols(b)
		switch {
		case err != nil: // somebody else's field
		case key == grouptags.StoredOffers && len(list) > 0:
			who.offers = unique(nil, restored(list, v.Subscription))
		case key == grouptags.StoredWithheld && g.m.settings.UnionAdmission:
			who.withheld = restored(list, v.Subscription)
		}
	})
	who.withheld = unique(who.offers, who.withheld)
	who.timer.Fire = func() { g.sessionEnded(who) }
	g.members.add(who)
	g.touch(who, g.m.now)
}

// restored undoes storedProtocols.
func restored(list []grouptags.Protocol, selected []byte) []grouptags.Protocol {
	for i := range list {
		if list[i].Metadata == nil {
			list[i].Metadata = selected
		}
	}
	return list
}
