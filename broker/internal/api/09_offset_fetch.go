package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/catalog"
	"github.com/skeinstream/skein/broker/internal/server"
	"github.com/skeinstream/skein/internal/group"
)

// OffsetFetch (9): how far groups have come.
//
// v1: the first that Kafka 4 serves
// v2: null topics ask for all; an error for the group (before, each partition carries it)
// v3: throttle time
// v4: throttled by muting the connection after the response (KIP-219)
// v5: the leader epoch of each offset (KIP-320)
// v6: flexible
// v7: stable offsets only, when asked for (KIP-447)
// v8: several groups (KIP-709)
// v9: the member and its epoch of the new protocol (KIP-848); not looked at for classic groups (R-K15)
// v10: topics are named by id
//
// An unknown group, topic or partition is no error: the offset is −1 (T31). Only a topic id that is not known is one, since
// nobody can tell whose offsets were meant. All older forms are turned into the newest and back.
func offsetFetchEntry() entry {
	return entry{key: 9, min: 1, max: 10, flexible: 6, serve: (*Handler).offsetFetch}
}

const (
	fetchGroupError    = 2  // the first version of OffsetFetch with an error for the group
	fetchManyGroups    = 8  // with several groups
	fetchOffsetTopicID = 10 // that names topics by id
)

func (h *Handler) offsetFetch(_ context.Context, r *server.Request) {
	req := kmsg.NewPtrOffsetFetchRequest()
	if !decode(r, req) {
		return
	}
	asked := askedOffsets(req)
	inputs := make([]input, len(asked))
	for i := range asked {
		a := &asked[i]
		inputs[i] = input{a.Group, group.Fetch{
			Group: a.Group, Topics: h.knownTopics(req.Version, a.Topics), All: a.Topics == nil, RequireStable: req.RequireStable,
		}}
	}
	one := func(i int, got any, code int16) kmsg.OffsetFetchResponseGroup {
		found, _ := got.(*kmsg.OffsetFetchResponseGroup)
		return h.fetchedGroup(req.Version, &asked[i], found, code)
	}
	inGroups(h, r, inputs, one, func(all []kmsg.OffsetFetchResponseGroup) kmsg.Response {
		return offsetsFetched(req, all)
	})
}

// askedOffsets gives requests of every version the shape of the newest. All offsets of a group are asked for once, however
// often a request does, and a partition that is named again is not asked for again: either may be large.
func askedOffsets(req *kmsg.OffsetFetchRequest) []kmsg.OffsetFetchRequestGroup {
	groups := req.Groups
	if req.Version < fetchManyGroups {
		g := kmsg.NewOffsetFetchRequestGroup()
		g.Group = req.Group
		for _, t := range req.Topics {
			g.Topics = append(g.Topics, kmsg.OffsetFetchRequestGroupTopic{Topic: t.Topic, Partitions: t.Partitions})
		}
		if req.Topics != nil && g.Topics == nil {
			g.Topics = []kmsg.OffsetFetchRequestGroupTopic{}
		}
		groups = []kmsg.OffsetFetchRequestGroup{g}
	}
	d := repeatedOffsets{all: map[string]bool{}, parts: map[offsetName]bool{}}
	kept := groups[:0]
	for _, g := range groups {
		if d.drop(&g) {
			continue
		}
		kept = append(kept, g)
	}
	return kept
}

// repeatedOffsets are what a request has asked for already.
type repeatedOffsets struct {
	all   map[string]bool // by group
	parts map[offsetName]bool
}

type offsetName struct {
	group, topic string
	id           catalog.ID
	partition    int32
}

// drop takes repeated partitions out of g, and reports whether g as a whole is repeated.
func (d *repeatedOffsets) drop(g *kmsg.OffsetFetchRequestGroup) bool {
	if g.Topics == nil {
		again := d.all[g.Group]
		d.all[g.Group] = true
		return again
	}
	for i := range g.Topics {
		t := &g.Topics[i]
		kept := t.Partitions[:0]
		for _, p := range t.Partitions {
			name := offsetName{g.Group, t.Topic, t.TopicID, p}
			if !d.parts[name] {
				d.parts[name] = true
				kept = append(kept, p)
			}
		}
		t.Partitions = kept
	}
	return false
}

// knownTopics are the topics that the group can be asked about, those with a name. They get the id of the topic that there
// is now: what was committed for an earlier one of its name is none of its business. nil stays nil.
func (h *Handler) knownTopics(version int16, asked []kmsg.OffsetFetchRequestGroupTopic) []kmsg.OffsetFetchRequestGroupTopic {
	if asked == nil {
		return nil
	}
	s := h.Catalog.Snapshot()
	known := make([]kmsg.OffsetFetchRequestGroupTopic, 0, len(asked))
	for i := range asked {
		a := &asked[i]
		if version < fetchOffsetTopicID {
			if topic := s.Topic(a.Topic); topic != nil {
				a.TopicID = topic.ID
			}
		} else if topic := s.TopicByID(a.TopicID); topic != nil {
			a.Topic = topic.Name
		} else {
			continue
		}
		known = append(known, *a)
	}
	return known
}

// fetchedGroup is the answer for one group, in the order in which it was asked for.
func (h *Handler) fetchedGroup(version int16, asked *kmsg.OffsetFetchRequestGroup, found *kmsg.OffsetFetchResponseGroup, code int16) kmsg.OffsetFetchResponseGroup {
	g := kmsg.NewOffsetFetchResponseGroup()
	if g.Group = asked.Group; code == 0 {
		code = found.ErrorCode
	}
	switch g.ErrorCode = code; {
	case code != 0 && version < fetchGroupError:
		g.Topics = noOffsets(asked.Topics, code)
	case code != 0:
	case asked.Topics == nil:
		g.Topics = h.current(version, found.Topics)
	default:
		g.Topics = inOrder(version, asked.Topics, found.Topics)
	}
	return g
}

// noOffsets answers every partition with code.
func noOffsets(asked []kmsg.OffsetFetchRequestGroupTopic, code int16) (topics []kmsg.OffsetFetchResponseGroupTopic) {
	for _, a := range asked {
		t := kmsg.OffsetFetchResponseGroupTopic{Topic: a.Topic, TopicID: a.TopicID}
		for _, index := range a.Partitions {
			t.Partitions = append(t.Partitions, kmsg.OffsetFetchResponseGroupTopicPartition{
				Partition: index, Offset: -1, LeaderEpoch: -1, Metadata: pointer(""), ErrorCode: code,
			})
		}
		topics = append(topics, t)
	}
	return topics
}

// current leaves out offsets of topics that are gone and have a successor of their name, and gives every topic its id. Where
// the version names topics by id, one that has none any more cannot be told.
func (h *Handler) current(version int16, found []kmsg.OffsetFetchResponseGroupTopic) []kmsg.OffsetFetchResponseGroupTopic {
	s := h.Catalog.Snapshot()
	told := make([]kmsg.OffsetFetchResponseGroupTopic, 0, len(found))
	for _, t := range found {
		topic := s.Topic(t.Topic)
		if topic == nil && version >= fetchOffsetTopicID || topic != nil && t.TopicID != (catalog.ID{}) && t.TopicID != topic.ID {
			continue
		}
		if topic != nil {
			t.TopicID = topic.ID
		}
		told = append(told, t)
	}
	return told
}

// inOrder puts what was found, and what could not be looked for, in the order in which it was asked for.
func inOrder(version int16, asked []kmsg.OffsetFetchRequestGroupTopic, found []kmsg.OffsetFetchResponseGroupTopic) []kmsg.OffsetFetchResponseGroupTopic {
	if version < fetchOffsetTopicID {
		return found
	}
	topics := make([]kmsg.OffsetFetchResponseGroupTopic, 0, len(asked))
	for i := range asked {
		switch {
		case asked[i].Topic == "":
			topics = append(topics, noOffsets(asked[i:i+1], kerr.UnknownTopicID.Code)...)
		case len(found) > 0:
			t := found[0]
			t.TopicID, found = asked[i].TopicID, found[1:]
			topics = append(topics, t)
		}
	}
	return topics
}

// offsetsFetched is the answer in the shape of the request's version.
func offsetsFetched(req *kmsg.OffsetFetchRequest, groups []kmsg.OffsetFetchResponseGroup) kmsg.Response {
	resp := kmsg.NewPtrOffsetFetchResponse()
	if req.Version >= fetchManyGroups {
		resp.Groups = groups
		return resp
	}
	resp.ErrorCode = groups[0].ErrorCode
	for _, t := range groups[0].Topics {
		old := kmsg.OffsetFetchResponseTopic{Topic: t.Topic}
		for _, p := range t.Partitions {
			old.Partitions = append(old.Partitions, kmsg.OffsetFetchResponseTopicPartition{
				Partition: p.Partition, Offset: p.Offset, LeaderEpoch: p.LeaderEpoch, Metadata: p.Metadata, ErrorCode: p.ErrorCode,
			})
		}
		resp.Topics = append(resp.Topics, old)
	}
	return resp
}
