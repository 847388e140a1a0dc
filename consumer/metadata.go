package consumer

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/assign"
	"github.com/skeinstream/skein/consumer/internal/membership"
)

// topics is what the driver has to know of topics: those that it subscribes to, and, while it leads, those of the group.
type topics struct {
	names   []string
	pattern *regexp.Regexp
	version int      // of the subscription: what was asked for an older one does not count
	begun   bool     // the machine knows of the subscription
	wants   int      // how often the leader has asked for topics: what was asked before that does not suit its plan
	led     []string // what the leader plans with; nil: it does not lead
	next    time.Time
}

// missingAge is how soon a topic is looked for again that is not there yet.
const missingAge = 5 * time.Second

// subscribe begins with a look at the topics: which ones a pattern matches, and how many partitions there are already.
func (d *driver) subscribe(names []string, pattern *regexp.Regexp) {
	d.topics.names, d.topics.pattern = names, pattern
	d.topics.version++
	d.topics.begun = false
	d.look()
}

func (d *driver) unsubscribe() {
	d.topics = topics{version: d.topics.version + 1, wants: d.topics.wants}
	d.c.table.knowTopics(nil, true)
	d.step(membership.Subscribed{})
}

// unsubscribed ends Unsubscribe, unless the user has subscribed again meanwhile, in a callback or by another goroutine.
func (d *driver) unsubscribed() {
	if d.topics.names == nil && d.topics.pattern == nil {
		d.c.unassign(d.c.table.byHand())
		d.c.table.unsubscribe()
	}
}

// look asks for the topics that matter.
func (d *driver) look() {
	d.topics.next = time.Time{}
	version, wants := d.topics.version, d.topics.wants
	wanted := d.topics.wanted()
	d.sending.Go(func() {
		found, err := d.cluster(wanted)
		if err == nil {
			d.post(func() {
				if version == d.topics.version {
					d.looked(found, wants == d.topics.wants)
				}
			})
		}
	})
}

// wanted names the topics to ask for; nil is all.
func (t *topics) wanted() []string {
	if t.pattern != nil {
		return nil
	}
	return slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(t.names), t.led...))))
}

// looked takes what the cluster has. It is for the leader's plan only if it was asked for what that needs.
func (d *driver) looked(found []topic, plans bool) {
	first := !d.topics.begun
	if first {
		d.complain(found)
	}
	matched := d.topics.matched(found)
	d.c.table.knowTopics(counts(matched, found), first)
	if first || d.topics.pattern != nil {
		d.topics.begun = true
		d.step(membership.Subscribed{Topics: matched, Matches: d.topics.matches()})
	}
	if !first && plans {
		d.step(membership.Metadata{Topics: assigned(found)})
	}
	d.again(found)
}

// complain tells the user of topics, asked for by name, that are refused for good, and the log of those that are not there.
func (d *driver) complain(found []topic) {
	for _, name := range d.topics.names {
		if !slices.ContainsFunc(found, func(f topic) bool { return f.Name == name }) {
			d.c.log.Warn("a topic is not there: create it; its partitions are read once there are any", "group", d.c.cfg.Group, "topic", name)
		}
	}
	for _, f := range found {
		if f.refused != nil && d.topics.pattern == nil {
			d.c.desk.fail(fmt.Errorf("subscribing to topic %q: %w", f.Name, f.refused), false)
		}
	}
}

// refresh is a look that time has brought.
func (d *driver) refresh() {
	d.topics.next = time.Time{}
	if d.topics.begun {
		d.look()
	}
}

// again sets the time of the next look. Followers of plain lists have no need of one: their leader sees to it.
func (d *driver) again(found []topic) {
	d.topics.next = time.Time{}
	if d.topics.pattern == nil && d.topics.led == nil {
		return
	}
	age := d.c.cfg.MetadataMaxAge
	if wanted := d.topics.wanted(); len(wanted) > len(found) {
		age = min(age, missingAge)
	}
	d.topics.next = time.Now().Add(age)
}

// want is what the leader has to know before it can plan.
func (d *driver) want(names []string) {
	d.topics.led = names
	d.topics.wants++
	version, wants := d.topics.version, d.topics.wants
	d.sending.Go(func() {
		found, err := d.cluster(names)
		if err != nil {
			return
		}
		d.post(func() {
			if wants != d.topics.wants {
				return
			}
			d.step(membership.Metadata{Topics: assigned(found)})
			if version == d.topics.version {
				d.again(found)
			}
		})
	})
}

// matched are the topics of the subscription: for a pattern, those that there are.
func (t *topics) matched(found []topic) []string {
	if t.pattern == nil {
		return t.names
	}
	var names []string
	for _, f := range found {
		if !f.internal && f.refused == nil && t.pattern.MatchString(f.Name) {
			names = append(names, f.Name)
		}
	}
	return names
}

func (t *topics) matches() func(string) bool {
	if t.pattern == nil {
		return nil
	}
	return t.pattern.MatchString
}

// topic is one that the cluster has.
type topic struct {
	assign.Topic
	id       [16]byte
	internal bool
	refused  error // why it may not be read, nor be named
}

// assigned are those that can be planned with.
func assigned(found []topic) (list []assign.Topic) {
	for _, f := range found {
		if f.refused == nil {
			list = append(list, f.Topic)
		}
	}
	return list
}

func counts(names []string, found []topic) map[string]int32 {
	counts := map[string]int32{}
	for _, name := range names {
		counts[name] = 0
	}
	for _, f := range found {
		if _, wanted := counts[f.Name]; wanted {
			counts[f.Name] = f.Partitions
		}
	}
	return counts
}

// cluster asks until there is an answer, or the driver's life ends.
func (d *driver) cluster(names []string) ([]topic, error) {
	var found []topic
	err := retry(d.life, func() (err error) {
		found, err = d.c.topics(d.life, names)
		d.unanswered("asking for topics failed: asking again", err)
		return err
	})
	return found, err
}

// topics asks once for what the cluster has of some topics; nil is all.
func (c *Consumer) topics(ctx context.Context, names []string) ([]topic, error) {
	req := kmsg.NewPtrMetadataRequest()
	if names != nil {
		req.Topics = []kmsg.MetadataRequestTopic{}
	}
	for _, name := range names {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(name)
		req.Topics = append(req.Topics, t)
	}
	resp, err := req.RequestWith(ctx, c.kafka)
	if err != nil {
		return nil, err
	}
	return read(resp)
}

// read takes the topics that there are.
func read(resp *kmsg.MetadataResponse) (found []topic, err error) {
	racks := map[int32]string{}
	for _, b := range resp.Brokers {
		if b.Rack != nil {
			racks[b.NodeID] = *b.Rack
		}
	}
	for _, t := range resp.Topics {
		switch err := kerr.ErrorForCode(t.ErrorCode); {
		case err == kerr.UnknownTopicOrPartition || t.Topic == nil:
			continue
		case err == kerr.TopicAuthorizationFailed || err == kerr.InvalidTopicException:
			found = append(found, topic{Topic: assign.Topic{Name: *t.Topic}, refused: err})
			continue
		case err != nil && err != kerr.LeaderNotAvailable:
			return nil, err
		}
		found = append(found, topic{Topic: readTopic(t, racks), id: t.TopicID, internal: t.IsInternal})
	}
	slices.SortFunc(found, func(a, b topic) int { return cmp.Compare(a.Name, b.Name) })
	return slices.CompactFunc(found, func(a, b topic) bool { return a.Name == b.Name }), nil
}

func readTopic(t kmsg.MetadataResponseTopic, racks map[int32]string) assign.Topic {
	out := assign.Topic{Name: *t.Topic, Partitions: int32(len(t.Partitions))}
	if len(racks) == 0 {
		return out
	}
	out.Racks = make([][]string, len(t.Partitions))
	for _, p := range t.Partitions {
		if p.Partition < 0 || int(p.Partition) >= len(out.Racks) {
			continue
		}
		for _, node := range p.Replicas {
			if rack, ok := racks[node]; ok {
				out.Racks[p.Partition] = append(out.Racks[p.Partition], rack)
			}
		}
	}
	return out
}
