package differential

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/interop/internal/report"
)

// fixedRequests asks what random cases would seldom ask.
func fixedRequests(t *testing.T, p *pair) {
	t.Run("the versions of what is advertised are Kafka's", func(t *testing.T) { sameRanges(t, p) })
	t.Run("requests and versions that nobody knows", func(t *testing.T) { unknownVersions(t, p) })
	t.Run("broker settings that both have", func(t *testing.T) { brokerSettings(t, p) })
	t.Run("one fault at a time, with every codec", func(t *testing.T) { everyWrong(t, p) })
}

func sameRanges(t *testing.T, p *pair) {
	same, absent := 0, []string{}
	for key, k := range p.kafka.ranges {
		ours, ok := p.target.ranges[key]
		switch {
		case !ok:
			absent = append(absent, kmsg.NameForKey(key))
		case ours != k:
			t.Errorf("%s: Kafka answers %v, the target %v", kmsg.NameForKey(key), k, ours)
		default:
			same++
		}
	}
	for key := range p.target.ranges {
		if _, ok := p.kafka.ranges[key]; !ok {
			t.Errorf("the target advertises %s, which Kafka does not", kmsg.NameForKey(key))
		}
	}
	report.Note(t, report.Shown, "versions", "%d kinds of requests in Kafka's own versions, %d not there yet", same, len(absent))
}

// unknownVersions compares what happens to the connection.
func unknownVersions(t *testing.T, p *pair) {
	raw := func(key, version int16) step {
		return step{text: fmt.Sprintf("key %d v%d", key, version), request: func(*side) kmsg.Request {
			return &unknownRequest{key: key, version: version}
		}}
	}
	for _, s := range []step{
		raw(3, 99), raw(0, 99), raw(0, 0), raw(0, 2), raw(1, 3), raw(1, 99), raw(18, 99), raw(18, 6),
		raw(19, 1), raw(32, 0), raw(999, 0), raw(-1, 0), raw(3, -1),
	} {
		report1(t, p, s)
	}
	for _, name := range []string{"", "a b", "ok", "-x", strings.Repeat("n", 300)} {
		for version := int16(0); version <= 4; version++ {
			report1(t, p, step{text: fmt.Sprintf("ApiVersions v%d from client software %q", version, name), request: func(*side) kmsg.Request {
				request := kmsg.NewPtrApiVersionsRequest()
				request.Version, request.ClientSoftwareName, request.ClientSoftwareVersion = version, name, "1"
				return request
			}})
		}
	}
}

// report1 does one step and fails when the answers differ.
func report1(t *testing.T, p *pair, s step) {
	t.Helper()
	k, o := p.both(s)
	if k.err != nil || o.err != nil {
		t.Errorf("%s: kafka %v, target %v", s.text, k.err, o.err)
		return
	}
	for _, d := range p.filtered(s, compare(k.lines, o.lines)) {
		t.Errorf("%s: %s", s.text, d)
	}
}

// unknownRequest is a header of any key and version with a body of four zero
// bytes.
type unknownRequest struct{ key, version int16 }

func (r *unknownRequest) Key() int16                  { return r.key }
func (r *unknownRequest) MaxVersion() int16           { return r.version }
func (r *unknownRequest) SetVersion(v int16)          { r.version = v }
func (r *unknownRequest) GetVersion() int16           { return r.version }
func (r *unknownRequest) IsFlexible() bool            { return false }
func (r *unknownRequest) AppendTo(b []byte) []byte    { return append(b, 0, 0, 0, 0) }
func (r *unknownRequest) ReadFrom([]byte) error       { return nil }
func (r *unknownRequest) UnsafeReadFrom([]byte) error { return nil }
func (r *unknownRequest) ResponseKind() kmsg.Response { return &anyResponse{} }
func (r *unknownRequest) SetTimeout(int32)            {}

// anyResponse keeps the first two bytes of an answer: the error code, where
// ApiVersions has it.
type anyResponse struct{ ErrorCode int16 }

func (r *anyResponse) Key() int16                    { return -1 }
func (r *anyResponse) MaxVersion() int16             { return 0 }
func (r *anyResponse) SetVersion(int16)              {}
func (r *anyResponse) GetVersion() int16             { return 0 }
func (r *anyResponse) IsFlexible() bool              { return false }
func (r *anyResponse) AppendTo(b []byte) []byte      { return b }
func (r *anyResponse) UnsafeReadFrom(b []byte) error { return r.ReadFrom(b) }
func (r *anyResponse) RequestKind() kmsg.Request     { return &unknownRequest{} }

func (r *anyResponse) ReadFrom(b []byte) error {
	if len(b) >= 2 {
		r.ErrorCode = int16(b[0])<<8 | int16(b[1])
	}
	return nil
}

// brokerSettings compares every broker setting that both have and neither has
// been given.
func brokerSettings(t *testing.T, p *pair) {
	type setting = kmsg.DescribeConfigsResponseResourceConfig
	describe := func(s *side) map[string]setting {
		request := kmsg.NewPtrDescribeConfigsRequest()
		request.Version, request.IncludeSynonyms, request.IncludeDocumentation = 4, true, true
		one := kmsg.NewDescribeConfigsRequestResource()
		one.ResourceType, one.ResourceName = kmsg.ConfigResourceTypeBroker, "1"
		request.Resources = append(request.Resources, one)
		response, err := s.ask(request)
		if err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		all := make(map[string]setting)
		for _, r := range response.(*kmsg.DescribeConfigsResponse).Resources {
			for _, c := range r.Configs {
				all[c.Name] = c
			}
		}
		return all
	}
	kafka, target := describe(p.kafka), describe(p.target)
	compared := 0
	for name, k := range kafka {
		ours, ok := target[name]
		if !ok || k.Source == kmsg.ConfigSourceStaticBrokerConfig || ours.Source == kmsg.ConfigSourceStaticBrokerConfig {
			continue
		}
		compared++
		s := step{text: "DescribeConfigs v4 broker setting " + name}
		for _, d := range p.filtered(s, compare(settingLines(k), settingLines(ours))) {
			t.Errorf("broker setting %s: %s", name, d)
		}
	}
	report.Note(t, report.Shown, "broker settings", "%d settings that Kafka has too are described alike", compared)
}

func settingLines(c kmsg.DescribeConfigsResponseResourceConfig) []string {
	value := func(s *string) string {
		if s == nil {
			return "null"
		}
		return *s
	}
	lines := []string{
		"value = " + value(c.Value), fmt.Sprintf("read only = %v", c.ReadOnly), fmt.Sprintf("source = %v", c.Source),
		fmt.Sprintf("sensitive = %v", c.IsSensitive), fmt.Sprintf("type = %v", c.ConfigType),
		fmt.Sprintf("documented = %v", c.Documentation != nil && *c.Documentation != ""),
	}
	for _, s := range c.ConfigSynonyms {
		lines = append(lines, fmt.Sprintf("synonym = %s %s %v", s.Name, value(s.Value), s.Source))
	}
	return lines
}

// everyWrong sends each faulty batch alone, with each codec, with and without
// a producer, to a plain topic.
func everyWrong(t *testing.T, p *pair) {
	w := newWorld(1, "wrong-", p.ranges(), p.kafka.began.UnixMilli())
	count := 0
	for _, wrong := range append(wrongs(), "") {
		for codec := range int16(5) {
			if wrong == "lz4 linked" && codec != 3 || wrong == "bad compression" && codec == 0 {
				continue
			}
			kind := []string{"plain", "compact", "append time", "gzip"}[count%4]
			create := w.createOne(kind)
			topic := w.topics[len(w.topics)-1]
			init := w.initProducerID()
			steps := []step{create, init}
			for i, producer := range []string{"", w.producers[len(w.producers)-1]} {
				at := place{topic, int32(i) % topic.partitions}
				b := batchSpec{codec: codec, wrong: wrong, time: w.now - hour, producer: producer,
					records: []recordSpec{{key: "a", value: strings.Repeat("text ", 50), later: 5, headers: 2}, {key: "b", value: "", later: 9}, {key: "c", value: "null", headers: 1}}}
				steps = append(steps, w.produceOne(13, at, b), w.produceOne(7, at, b))
			}
			steps = append(steps, w.fetchAll(topic), w.listAll(topic))
			count++
			f, err := p.runCase("wrong-", steps)
			if err != nil {
				t.Fatal(err)
			}
			if f != nil {
				t.Errorf("codec %d, wrong %q, %s topic:\n%s", codec, wrong, kind, f.script())
			}
		}
	}
	report.Note(t, report.Shown, "faulty batches", "%d kinds with and without a producer answered as Kafka answers", count)
}
