package differential

import (
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// someTopicConfig is a setting with a value that is right or wrong.
func (w *world) someTopicConfig() (name, value string) {
	values := map[string][]string{
		"cleanup.policy":                  {"compact", "delete", "compact,delete", "delete, compact", "none", "", "COMPACT"},
		"compression.type":                {"producer", "none", "brotli"},
		"compression.gzip.level":          {"1", "-1", "0", "10"},
		"delete.retention.ms":             {"0", "1000", "-1", "x"},
		"file.delete.delay.ms":            {"0", "60000", "-1"},
		"flush.messages":                  {"1", "0", "-1"},
		"index.interval.bytes":            {"4096", "0", "-1"},
		"max.message.bytes":               {"100", "1048588", "-1", "99999999999"},
		"message.timestamp.type":          {"CreateTime", "Other"},
		"message.timestamp.after.max.ms":  {"3600000", "-1", "0"},
		"message.timestamp.before.max.ms": {"86400000", "-1"},
		"min.cleanable.dirty.ratio":       {"0.5", "0", "1", "1.5", "-0.1"},
		"min.compaction.lag.ms":           {"0", "100", "-1"},
		"max.compaction.lag.ms":           {"1000", "0"},
		"min.insync.replicas":             {"1", "2", "0"},
		"preallocate":                     {"true", "false", "maybe"},
		"retention.bytes":                 {"-1", "1000000", "-2"},
		"retention.ms":                    {"-1", "86400000", "-2", "99999999999999999999"},
		"segment.bytes":                   {"1048576", "1073741824", "14", "1000"},
		"segment.index.bytes":             {"1024", "3"}, // Kafka takes 4 and cannot open the log then
		"segment.jitter.ms":               {"0", "100", "-1"},
		"segment.ms":                      {"60000", "1", "0"},
		"unclean.leader.election.enable":  {"true", "false"},
		"remote.storage.enable":           {"false", "true"},
		"local.retention.ms":              {"-2", "1000"},
		"no.such.setting":                 {"1"},
		"":                                {"1"},
	}
	names := sortedKeys(values)
	name = pick(w, names)
	return name, pick(w, values[name])
}

func (w *world) describeConfigs() step {
	version := w.version(kmsg.DescribeConfigs)
	resource := w.someTopic().name
	kind := kmsg.ConfigResourceTypeTopic
	var names []string
	switch w.r.IntN(8) {
	case 0:
		names = []string{"retention.ms", "segment.bytes"}
	case 1:
		names = []string{"no.such.setting"}
	case 2:
		names = []string{}
	case 3:
		resource = pick(w, []string{"", "a b", "."})
	case 4:
		kind = kmsg.ConfigResourceType(pick(w, []int8{0, 3, 77}))
	case 5:
		kind, resource, names = kmsg.ConfigResourceTypeBroker, pick(w, []string{"99", "x", "-1"}), []string{"log.retention.ms"}
	}
	synonyms, documentation := w.chance(2), w.chance(2)
	return step{
		text: say("DescribeConfigs", version, "%v %q names %q synonyms=%v documentation=%v", kind, resource, names, synonyms, documentation),
		request: func(*side) kmsg.Request {
			request := kmsg.NewPtrDescribeConfigsRequest()
			request.Version, request.IncludeSynonyms, request.IncludeDocumentation = version, synonyms, documentation
			one := kmsg.NewDescribeConfigsRequestResource()
			one.ResourceType, one.ResourceName, one.ConfigNames = kind, resource, names
			request.Resources = append(request.Resources, one)
			return request
		},
	}
}

// alteration is one change of one topic setting.
type alteration struct {
	name, value string
	op          kmsg.IncrementalAlterConfigOp
	null        bool
}

func (w *world) someAlterations() []alteration {
	var all []alteration
	for range 1 + w.r.IntN(2) {
		a := alteration{op: kmsg.IncrementalAlterConfigOp(pick(w, []int8{0, 0, 0, 0, 1, 2, 3, 4}))}
		a.name, a.value = w.someTopicConfig()
		if a.op > 1 && w.chance(2) {
			a.name, a.value = "cleanup.policy", pick(w, []string{"compact", "delete"})
		}
		a.null = w.chance(12)
		if a.op == 4 {
			return []alteration{a} // alone, for it hides other faults
		}
		all = append(all, a)
	}
	return all
}

func (a alteration) valuePointer() *string {
	if a.null {
		return nil
	}
	return kmsg.StringPtr(a.value)
}

func (w *world) incrementalAlterConfigs() step {
	version := w.version(kmsg.IncrementalAlterConfigs)
	resource := w.someTopic().name
	changes, validateOnly := w.someAlterations(), w.chance(3)
	twice := w.chance(15)
	return step{
		text: say("IncrementalAlterConfigs", version, "%q %+v validateOnly=%v twice=%v", resource, changes, validateOnly, twice),
		request: func(*side) kmsg.Request {
			request := kmsg.NewPtrIncrementalAlterConfigsRequest()
			request.Version, request.ValidateOnly = version, validateOnly
			one := kmsg.NewIncrementalAlterConfigsRequestResource()
			one.ResourceType, one.ResourceName = kmsg.ConfigResourceTypeTopic, resource
			for _, a := range changes {
				c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
				c.Name, c.Op, c.Value = a.name, a.op, a.valuePointer()
				one.Configs = append(one.Configs, c)
			}
			request.Resources = append(request.Resources, one)
			if twice {
				request.Resources = append(request.Resources, one)
			}
			return request
		},
		after: func(s *side, response kmsg.Response) error {
			for _, r := range response.(*kmsg.IncrementalAlterConfigsResponse).Resources {
				if r.ErrorCode != 0 {
					return nil
				}
			}
			return s.settleConfigs(resource, changes, validateOnly)
		},
	}
}

func (w *world) alterConfigs() step {
	version := w.version(kmsg.AlterConfigs)
	resource := w.someTopic().name
	changes, validateOnly := w.someAlterations(), w.chance(3)
	return step{
		text: say("AlterConfigs", version, "%q %+v validateOnly=%v", resource, changes, validateOnly),
		request: func(*side) kmsg.Request {
			request := kmsg.NewPtrAlterConfigsRequest()
			request.Version, request.ValidateOnly = version, validateOnly
			one := kmsg.NewAlterConfigsRequestResource()
			one.ResourceType, one.ResourceName = kmsg.ConfigResourceTypeTopic, resource
			for _, a := range changes {
				c := kmsg.NewAlterConfigsRequestResourceConfig()
				c.Name, c.Value = a.name, a.valuePointer()
				one.Configs = append(one.Configs, c)
			}
			request.Resources = append(request.Resources, one)
			return request
		},
		after: func(s *side, response kmsg.Response) error {
			for _, r := range response.(*kmsg.AlterConfigsResponse).Resources {
				if r.ErrorCode != 0 {
					return nil
				}
			}
			return s.settleConfigs(resource, changes, validateOnly)
		},
	}
}

// settleConfigs waits until a change of settings that was accepted is seen, and
// gives a broker the moment more that it needs to hand it to its logs.
func (s *side) settleConfigs(resource string, changes []alteration, validateOnly bool) error {
	for range 100 {
		if validateOnly {
			return nil
		}
		request := kmsg.NewPtrDescribeConfigsRequest()
		one := kmsg.NewDescribeConfigsRequestResource()
		one.ResourceType, one.ResourceName = kmsg.ConfigResourceTypeTopic, resource
		request.Version, request.Resources = 1, append(request.Resources, one)
		response, err := s.ask(request)
		if err != nil {
			return err
		}
		if seen(response.(*kmsg.DescribeConfigsResponse), changes) {
			break
		}
		pause(5 * time.Millisecond)
	}
	pause(20 * time.Millisecond)
	return nil
}

// seen tells whether the values that changes set are described. Those that
// take away or append are published together with them, or alone.
func seen(response *kmsg.DescribeConfigsResponse, changes []alteration) bool {
	for _, c := range changes {
		if c.op != kmsg.IncrementalAlterConfigOpSet || c.null {
			continue
		}
		for _, r := range response.Resources {
			for _, described := range r.Configs {
				if described.Name == c.name && described.Value != nil && *described.Value != strings.ReplaceAll(c.value, " ", "") {
					return false
				}
			}
		}
	}
	return true
}
