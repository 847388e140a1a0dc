package differential

import (
	"errors"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// memberStep reads what members do.
func (r scriptReader) memberStep(c command) (step, bool) {
	switch c.verb {
	case "join":
		return r.join(c), true
	case "sync":
		return syncSpec{
			by: c.who(), group: r.group(c), version: c.version(5), id: c.text("as", c.who()), instance: c.text("instance", ""),
			plus: int32(c.number("plus", 0)), kind: c.text("kind", "own"), protocol: c.text("protocol", "own"), assign: c.text("assign", ""),
		}.step(), true
	case "heartbeat":
		return heartbeatSpec{
			of: c.who(), group: r.group(c), version: c.version(4), id: c.text("as", c.who()), instance: c.text("instance", ""),
			plus: int32(c.number("plus", 0)),
		}.step(), true
	case "leave":
		l := leaveSpec{group: r.group(c), version: c.version(5), reason: c.text("reason", "")}
		for _, word := range c.words {
			id, instance, _ := strings.Cut(word, "/")
			l.members = append(l.members, leaver{id, instance})
		}
		return l.step(), true
	case "commit":
		return r.commit(c), true
	}
	return step{}, false
}

// join reads offers as NAME or NAME:RAW, with commas between; topics are those
// of every offer without raw metadata.
func (r scriptReader) join(c command) step {
	j := joinSpec{
		by: c.who(), group: r.group(c), version: c.version(9), id: c.text("as", c.who()), instance: c.text("instance", ""),
		kind: c.text("kind", "consumer"), session: int32(c.number("session", 0)), rebalance: int32(c.number("rebalance", 0)),
		reason: c.text("reason", ""), mark: c.text("mark", ""),
	}
	var topics []string
	for _, name := range listed(c.text("topics", "")) {
		topics = append(topics, r.name(name))
	}
	for _, one := range listed(c.text("offers", "range")) {
		name, raw, _ := strings.Cut(one, ":")
		j.offers = append(j.offers, offer{name: name, topics: topics, raw: raw, user: c.keys["user"]})
	}
	delete(c.keys, "user")
	return j.step()
}

func listed(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

// commit reads places as TOPIC/PARTITION@OFFSET, with commas between. "of" is
// whose generation is sent, "none" for none.
func (r scriptReader) commit(c command) step {
	s := commitSpec{
		group: r.group(c), version: c.version(9), id: c.text("as", c.who()), instance: c.text("instance", ""), of: c.text("of", c.who()),
		plus: int32(c.number("plus", 0)), retention: c.number("retention", -1),
	}
	metadata := text{of: c.text("metadata", ""), times: int(c.number("repeat", 1))}
	epoch, byID := int32(c.number("epoch", -1)), c.text("id", "")
	for _, place := range listed(c.text("at", "t/0@1")) {
		name, rest, _ := strings.Cut(place, "/")
		partition, offset, _ := strings.Cut(rest, "@")
		p := commitPartition{partition: number32(partition), offset: int64(number32(offset)), epoch: epoch, metadata: metadata}
		s.topics = append(s.topics, commitTopic{name: r.name(name), byID: byID, partitions: []commitPartition{p}})
	}
	return s.step()
}

func number32(text string) int32 {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		panic(err)
	}
	return int32(n)
}

// places reads TOPIC/PARTITION, with commas between.
func (r scriptReader) places(places, byID string) []fetchTopic {
	topics := []fetchTopic{}
	for _, place := range listed(places) {
		name, partition, _ := strings.Cut(place, "/")
		topics = append(topics, fetchTopic{name: r.name(name), byID: byID, partitions: []int32{number32(partition)}})
	}
	return topics
}

// groupStep reads what concerns whole groups.
func (r scriptReader) groupStep(c command) (step, bool) {
	switch c.verb {
	case "fetch":
		f := offsetFetchSpec{
			version: c.version(9), groups: r.names(c.words), stable: c.text("stable", "") == "yes", member: c.text("member", ""), epoch: -1,
		}
		at := c.text("at", "all")
		if f.all = at == "all"; !f.all {
			f.topics = r.places(at, c.text("id", ""))
		}
		return f.step(), true
	case "forget":
		return offsetDeleteSpec{group: r.group(c), topics: r.places(c.text("at", "t/0"), "")}.step(), true
	case "describe":
		return describeSpec{version: c.version(6), groups: r.names(c.words), operations: c.text("operations", "") == "yes"}.step(), true
	case "list":
		return listSpec{version: c.version(5), states: listed(c.text("states", "")), types: listed(c.text("types", ""))}.step(), true
	case "delete":
		return deleteGroupsSpec{version: c.version(2), groups: r.names(c.words)}.step(), true
	case "find":
		return findSpec{version: c.version(6), kind: int8(c.number("type", 0)), keys: r.names(c.words)}.step(), true
	}
	return step{}, false
}

// dropStep deletes a topic.
func dropStep(name string) step {
	return step{
		text: say("DeleteTopics", 5, "%s", name),
		request: func(*side) kmsg.Request {
			request := kmsg.NewPtrDeleteTopicsRequest()
			request.Version, request.TimeoutMillis, request.TopicNames = 5, adminTimeoutMillis, []string{name}
			return request
		},
		after: func(s *side, response kmsg.Response) error {
			return errors.Join(s.settleDeleted(name, response), s.settleOffsets(name, response))
		},
	}
}
