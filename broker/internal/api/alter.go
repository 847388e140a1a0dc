package api

import (
	"context"
	"maps"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/catalog"
	"github.com/skeinstream/skein/internal/settings"
)

// What AlterConfigs and IncrementalAlterConfigs have in common: both turn the settings that a resource was given into
// others, check the whole, and store what is right in one step.

// alteration is one resource of a request. turn makes its new settings from those it has; it gets a copy.
type alteration struct {
	kind  kmsg.ConfigResourceType
	name  string
	keys  []string // in the order of the request
	nulls []string // the keys that have no value and need one
	turn  func(given map[string]string) refusal
}

// resource is what settings are given to.
type resource struct {
	kind kmsg.ConfigResourceType
	name string
}

// alterConfigs answers for each alteration, in order.
func (h *Handler) alterConfigs(ctx context.Context, all []alteration, validateOnly bool) []refusal {
	var results []refusal
	err := h.change(ctx, validateOnly, func(s *catalog.Snapshot) (records []catalog.Record) {
		results, records = h.alterAll(s, all)
		return records
	})
	if err != nil {
		results = make([]refusal, len(all))
		for i := range results {
			results[i] = notStored(err)
		}
	}
	return results
}

func (h *Handler) alterAll(s *catalog.Snapshot, all []alteration) (results []refusal, records []catalog.Record) {
	times := map[resource]int{}
	for _, a := range all {
		times[resource{a.kind, a.name}]++
	}
	for _, a := range all {
		f := a.check()
		if times[resource{a.kind, a.name}] > 1 {
			f = refuse(kerr.InvalidRequest, "Each resource must appear at most once.")
		}
		if f.code == 0 {
			var r *catalog.Record
			r, f = h.alterResource(s, a)
			if f.code == 0 && r != nil {
				records = append(records, *r)
			}
		}
		results = append(results, f)
	}
	return results, records
}

// check refuses what is wrong with the request itself.
func (a alteration) check() refusal {
	seen := map[string]bool{}
	for _, key := range a.keys {
		if seen[key] {
			return refuse(kerr.InvalidRequest, "Error due to duplicate config keys")
		}
		seen[key] = true
	}
	if len(a.nulls) > 0 {
		return refuse(kerr.InvalidRequest, "Null value not supported for : %s", strings.Join(a.nulls, ","))
	}
	return refusal{}
}

// alterResource returns the record that makes the change, nil when nothing changes.
func (h *Handler) alterResource(s *catalog.Snapshot, a alteration) (*catalog.Record, refusal) {
	switch a.kind {
	case kmsg.ConfigResourceTypeTopic:
		return h.alterTopic(s, a)
	case kmsg.ConfigResourceTypeBroker:
		return h.alterBroker(s, a)
	default:
		return nil, refuse(kerr.InvalidRequest, "Unsupported resource type: %s", a.kind)
	}
}

// alterTopic checks the settings before it looks whether the topic exists, as Kafka does.
func (h *Handler) alterTopic(s *catalog.Snapshot, a alteration) (*catalog.Record, refusal) {
	if a.name == "" {
		return nil, refuse(kerr.InvalidRequest, "Default topic resources are not allowed.")
	}
	if f := checkTopicName(a.name); f.code != 0 {
		return nil, f
	}
	var given map[string]string
	t := s.Topic(a.name)
	if t != nil {
		given = t.Configs
	}
	next := copied(given)
	if f := a.turn(next); f.code != 0 {
		return nil, f
	}
	if err := settings.CheckTopic(h.layers(s), next); err != nil {
		return nil, badConfig(err)
	}
	switch {
	case t == nil:
		return nil, refuse(kerr.UnknownTopicOrPartition, "The topic '%s' does not exist.", a.name)
	case maps.Equal(given, next):
		return nil, refusal{}
	default:
		return &catalog.Record{TopicConfigs: &catalog.TopicConfigs{ID: t.ID, Configs: next}}, refusal{}
	}
}

func (h *Handler) alterBroker(s *catalog.Snapshot, a alteration) (*catalog.Record, refusal) {
	if f := h.checkBrokerName(a.name); f.code != 0 {
		return nil, f
	}
	given := s.BrokerConfigs(a.name)
	next := copied(given)
	if f := a.turn(next); f.code != 0 {
		return nil, f
	}
	layers := h.layers(s)
	if a.name == "" {
		layers.DynamicDefault = next
	} else {
		layers.DynamicBroker = next
	}
	if err := settings.CheckDynamic(layers, next); err != nil {
		return nil, badBrokerConfig(err)
	}
	if maps.Equal(given, next) {
		return nil, refusal{}
	}
	return &catalog.Record{BrokerConfigs: &catalog.BrokerConfigs{Broker: a.name, Configs: next}}, refusal{}
}

// checkBrokerName allows this broker's id and the empty name, which means all brokers.
func (h *Handler) checkBrokerName(name string) refusal {
	id, err := strconv.Atoi(name)
	switch {
	case name == "":
		return refusal{}
	case err != nil:
		return refuse(kerr.InvalidRequest, "Node id must be an integer, but it is: %s", name)
	case id != int(h.NodeID):
		return refuse(kerr.InvalidRequest, "Unexpected broker id, expected %d, but received %s", h.NodeID, name)
	default:
		return refusal{}
	}
}

func copied(m map[string]string) map[string]string {
	next := map[string]string{}
	maps.Copy(next, m)
	return next
}
