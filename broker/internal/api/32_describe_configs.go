package api

import (
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/catalog"
	"github.com/skeinstream/skein/broker/internal/server"
	"github.com/skeinstream/skein/internal/settings"
)

// DescribeConfigs (32)
//
// v1: first version that Kafka 4 serves: sources in place of is-default, synonyms when asked for (KIP-226)
// v2: throttled by muting the connection after the response (KIP-219)
// v3: types, and documentation when asked for (KIP-569)
// v4: flexible
//
// Every known setting is listed, set or not (T37): tools like Terraform and Connect compare the whole. Topics,
// brokers and, under the empty name, the settings given to all brokers while running can be described. The resource
// types of groups, client metrics and loggers are refused. All of a resource is told once: whoever names it again without
// naming settings would get a thousand times the bytes that it sends.
func describeConfigsEntry() entry {
	return entry{key: 32, min: 1, max: 4, flexible: 4, serve: answers(kmsg.NewPtrDescribeConfigsRequest,
		func(h *Handler, _ *server.Request, req *kmsg.DescribeConfigsRequest) kmsg.Response {
			return h.describeConfigs(req)
		})}
}

func (h *Handler) describeConfigs(req *kmsg.DescribeConfigsRequest) kmsg.Response {
	resp := kmsg.NewPtrDescribeConfigsResponse()
	s := h.Catalog.Snapshot()
	whole := map[resource]bool{}
	for _, asked := range req.Resources {
		if len(asked.ConfigNames) == 0 {
			key := resource{asked.ResourceType, asked.ResourceName}
			if whole[key] {
				continue
			}
			whole[key] = true
		}
		answer := kmsg.NewDescribeConfigsResponseResource()
		answer.ResourceType, answer.ResourceName = asked.ResourceType, asked.ResourceName
		entries, f := h.describeResource(s, asked)
		answer.ErrorCode, answer.ErrorMessage = f.code, &f.message
		answer.Configs = []kmsg.DescribeConfigsResponseResourceConfig{}
		for _, e := range entries {
			if len(asked.ConfigNames) == 0 || slices.Contains(asked.ConfigNames, e.Def.Name) {
				answer.Configs = append(answer.Configs, describedConfig(e, req))
			}
		}
		resp.Resources = append(resp.Resources, answer)
	}
	return resp
}

func (h *Handler) describeResource(s *catalog.Snapshot, asked kmsg.DescribeConfigsRequestResource) ([]settings.Entry, refusal) {
	switch asked.ResourceType {
	case kmsg.ConfigResourceTypeTopic:
		return h.describeTopic(s, asked.ResourceName)
	case kmsg.ConfigResourceTypeBroker:
		return h.describeBroker(s, asked.ResourceName)
	default:
		return nil, refuse(kerr.InvalidRequest, "Unsupported resource type: %s", asked.ResourceType)
	}
}

func (h *Handler) describeTopic(s *catalog.Snapshot, name string) ([]settings.Entry, refusal) {
	if f := checkTopicName(name); f.code != 0 {
		return nil, f
	}
	t := s.Topic(name)
	if t == nil {
		return nil, refuse(kerr.UnknownTopicOrPartition, "")
	}
	return settings.DescribeTopic(h.layers(s), t.Configs), refusal{}
}

func (h *Handler) describeBroker(s *catalog.Snapshot, name string) ([]settings.Entry, refusal) {
	if name == "" {
		return settings.DescribeDynamicDefault(h.layers(s)), refusal{}
	}
	id, err := strconv.Atoi(name)
	switch {
	case err != nil:
		return nil, refuse(kerr.InvalidRequest, "Broker id must be an integer, but it is: %s", name)
	case id != int(h.NodeID):
		return nil, refuse(kerr.InvalidRequest, "Unexpected broker id, expected %d or empty string, but received %s", h.NodeID, name)
	default:
		return settings.DescribeBroker(h.layers(s)), refusal{}
	}
}

func describedConfig(e settings.Entry, req *kmsg.DescribeConfigsRequest) kmsg.DescribeConfigsResponseResourceConfig {
	answer := kmsg.NewDescribeConfigsResponseResourceConfig()
	answer.Name, answer.Value = e.Def.Name, shown(e.Value, e.Null)
	answer.ReadOnly, answer.IsSensitive = !e.Def.Dynamic, e.Def.Sensitive
	answer.Source, answer.ConfigType = kmsg.ConfigSource(e.Source), kmsg.ConfigType(e.Def.Type)
	answer.ConfigSynonyms = []kmsg.DescribeConfigsResponseResourceConfigConfigSynonym{}
	if req.IncludeSynonyms {
		for _, s := range e.Synonyms {
			answer.ConfigSynonyms = append(answer.ConfigSynonyms, kmsg.DescribeConfigsResponseResourceConfigConfigSynonym{
				Name: s.Name, Value: shown(s.Value, s.Null), Source: kmsg.ConfigSource(s.Source),
			})
		}
	}
	if req.IncludeDocumentation {
		answer.Documentation = &e.Def.Doc
	}
	return answer
}

func shown(value string, null bool) *string {
	if null {
		return nil
	}
	return &value
}
