package broker

import (
	"maps"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// change does something to the catalog by do, which returns the code of the answer. Before it is answered, a crash may
// leave the state before or after.
func (w *workload) change(name string, after *topicModel, made bool, do func() int16) {
	w.model.mu.Lock()
	w.model.pending = &change{name: name, after: after, made: made}
	w.model.mu.Unlock()
	code := do()
	w.model.mu.Lock()
	defer w.model.mu.Unlock()
	w.model.pending = nil
	switch {
	case code != 0 && w.failing != nil && w.failing(code):
		w.refusals++
	case code != 0:
		w.t.Errorf("changing %s: %v, after %v", name, failed(code), w.ops)
	case after == nil:
		delete(w.model.topics, name)
	default:
		w.model.topics[name] = after
	}
}

// kindOf is the kind of a topic by its name.
func kindOf(name string) string {
	for kind := range topicConfigs() {
		if len(name) >= len(kind) && name[:len(kind)] == kind {
			return kind
		}
	}
	return "plain"
}

func (w *workload) createTopic(name string, partitions int) {
	if w.model.topics[name] != nil {
		return
	}
	w.did("create %s", name)
	configs := topicConfigs()[kindOf(name)]
	after := newTopicModel(partitions, configs)
	w.change(name, after, true, func() int16 {
		req := kmsg.NewPtrCreateTopicsRequest()
		t := kmsg.NewCreateTopicsRequestTopic()
		t.Topic, t.NumPartitions, t.ReplicationFactor = name, int32(partitions), 1
		for k, v := range configs {
			c := kmsg.NewCreateTopicsRequestTopicConfig()
			c.Name, c.Value = k, kmsg.StringPtr(v)
			t.Configs = append(t.Configs, c)
		}
		req.Topics = append(req.Topics, t)
		resp, err := ask[*kmsg.CreateTopicsResponse](w.wire, req)
		w.must(err)
		after.id = resp.Topics[0].TopicID
		return resp.Topics[0].ErrorCode
	})
}

// recreate deletes a topic, and makes it again if it is one of the first.
func (w *workload) recreate() {
	name, _ := w.topic()
	w.did("delete %s", name)
	w.change(name, nil, false, func() int16 {
		req := kmsg.NewPtrDeleteTopicsRequest()
		req.TopicNames = []string{name}
		resp, err := ask[*kmsg.DeleteTopicsResponse](w.wire, req)
		w.must(err)
		return resp.Topics[0].ErrorCode
	})
	if _, first := topicConfigs()[name]; first && w.model.topics[name] == nil {
		w.createTopic(name, 1+w.dice.IntN(2))
	}
}

func (w *workload) morePartitions() {
	name, t := w.topic()
	if len(t.parts) > 3 {
		return
	}
	w.did("grow %s", name)
	w.model.mu.Lock()
	after := t.clone()
	w.model.mu.Unlock()
	after.grow(len(t.parts) + 1)
	w.change(name, after, false, func() int16 {
		req := kmsg.NewPtrCreatePartitionsRequest()
		rt := kmsg.NewCreatePartitionsRequestTopic()
		rt.Topic, rt.Count = name, int32(len(after.parts))
		req.Topics = append(req.Topics, rt)
		resp, err := ask[*kmsg.CreatePartitionsResponse](w.wire, req)
		w.must(err)
		return resp.Topics[0].ErrorCode
	})
}

// alter changes a setting of a topic: how much is kept, how segments roll, or the mode of durability.
func (w *workload) alter() {
	name, t := w.topic()
	key, value := w.setting(t)
	w.did("alter %s %s=%s", name, key, value)
	w.model.mu.Lock()
	after := t.clone()
	w.model.mu.Unlock()
	after.configs = maps.Clone(t.configs)
	after.configs[key] = value
	w.change(name, after, false, func() int16 {
		req := kmsg.NewPtrIncrementalAlterConfigsRequest()
		r := kmsg.NewIncrementalAlterConfigsRequestResource()
		r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeTopic, name
		c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		c.Name, c.Op, c.Value = key, kmsg.IncrementalAlterConfigOpSet, kmsg.StringPtr(value)
		r.Configs = append(r.Configs, c)
		req.Resources = append(req.Resources, r)
		resp, err := ask[*kmsg.IncrementalAlterConfigsResponse](w.wire, req)
		w.must(err)
		return resp.Resources[0].ErrorCode
	})
}

func (w *workload) setting(t *topicModel) (key, value string) {
	switch w.dice.IntN(3) {
	case 0:
		if !t.compacted() {
			return "retention.bytes", []string{"-1", "1500", "4000"}[w.dice.IntN(3)]
		}
		return "segment.ms", []string{"20", "100", "604800000"}[w.dice.IntN(3)]
	case 1:
		return "segment.ms", []string{"20", "100", "604800000"}[w.dice.IntN(3)]
	default:
		return "skein.durability", []string{"always", "interval", "os"}[w.dice.IntN(3)]
	}
}

// deleteRecords moves the start of a partition up to some offset.
func (w *workload) deleteRecords() {
	name, t := w.topic()
	if t.compacted() {
		return
	}
	index := int32(w.dice.IntN(len(t.parts)))
	p := t.parts[index]
	to := p.start + int64(w.dice.IntN(int(max(1, p.end()-p.start+1))))
	w.did("delete records of %s-%d below %d of %d", name, index, to, p.end())
	w.model.mu.Lock()
	p.deleting = to
	w.model.mu.Unlock()
	req := kmsg.NewPtrDeleteRecordsRequest()
	rt := kmsg.NewDeleteRecordsRequestTopic()
	rt.Topic = name
	rp := kmsg.NewDeleteRecordsRequestTopicPartition()
	rp.Partition, rp.Offset = index, to
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	resp, err := ask[*kmsg.DeleteRecordsResponse](w.wire, req)
	w.must(err)
	got := resp.Topics[0].Partitions[0]
	if got.ErrorCode != 0 && w.failing != nil && w.failing(got.ErrorCode) {
		w.refusals++ // it may be there or not
		return
	}
	if got.ErrorCode != 0 {
		w.t.Errorf("deleting records of %s-%d below %d of %d: %v", name, index, to, p.end(), failed(got.ErrorCode))
	}
	w.model.mu.Lock()
	defer w.model.mu.Unlock()
	p.start = max(p.start, got.LowWatermark)
}

func (w *workload) newProducer() {
	w.did("new producer")
	resp, err := ask[*kmsg.InitProducerIDResponse](w.wire, kmsg.NewPtrInitProducerIDRequest())
	w.must(err)
	w.model.mu.Lock()
	defer w.model.mu.Unlock()
	if w.model.producers[resp.ProducerID] || resp.ErrorCode != 0 {
		w.t.Errorf("producer id %d, %v", resp.ProducerID, failed(resp.ErrorCode))
	}
	w.model.producers[resp.ProducerID] = true
	w.ids = append(w.ids, resp.ProducerID)
}
