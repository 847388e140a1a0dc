package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/settings"
)

func describing(kind kmsg.ConfigResourceType, name string, keys ...string) *kmsg.DescribeConfigsRequest {
	req := kmsg.NewPtrDescribeConfigsRequest()
	r := kmsg.NewDescribeConfigsRequestResource()
	r.ResourceType, r.ResourceName, r.ConfigNames = kind, name, keys
	req.Resources = append(req.Resources, r)
	return req
}

const (
	ofTopic  = kmsg.ConfigResourceTypeTopic
	ofBroker = kmsg.ConfigResourceTypeBroker
)

// T37: the whole set, with type, source and read-only flag.
func TestDescribeConfigsListsEverySetting(t *testing.T) {
	b := start(t, nil)
	b.create(topic("a", 1, 1))
	for v := int16(1); v <= 4; v++ {
		got := ask[*kmsg.DescribeConfigsResponse](b, v, describing(ofTopic, "a")).Resources[0]
		if got.ErrorCode != 0 || said(got.ErrorMessage) != "" || len(got.Configs) != len(settings.Topics().All()) {
			t.Errorf("v%d: %d %q, %d settings", v, got.ErrorCode, said(got.ErrorMessage), len(got.Configs))
		}
		for _, k := range got.Configs {
			if k.ReadOnly || k.Value == nil || len(k.ConfigSynonyms) != 0 || k.Documentation != nil || (k.ConfigType != 0) != (v >= 3) {
				t.Errorf("v%d: %+v", v, k)
			}
		}
		brokers := ask[*kmsg.DescribeConfigsResponse](b, v, describing(ofBroker, "1")).Resources[0]
		if len(brokers.Configs) != len(settings.Brokers().All()) {
			t.Errorf("v%d: %d broker settings", v, len(brokers.Configs))
		}
	}
}

// shownAs is one line for a setting: value, source, read-only, synonyms.
func shownAs(k kmsg.DescribeConfigsResponseResourceConfig) string {
	line := fmt.Sprintf("%s=%s source=%d ro=%v type=%d", k.Name, said(k.Value), k.Source, k.ReadOnly, k.ConfigType)
	for _, s := range k.ConfigSynonyms {
		line += fmt.Sprintf(" %s=%s(%d)", s.Name, said(s.Value), s.Source)
	}
	return line
}

// P7.12: sources, synonyms and documentation, as Kafka 4.4 answers (probed).
func TestDescribeConfigsTellsSourcesAndSynonyms(t *testing.T) {
	b := start(t, map[string]string{"log.segment.bytes": "2000000", "node.id": "1"})
	b.create(topic("a", 1, 1, "retention.ms", " 77 "))
	for _, c := range []struct {
		kind kmsg.ConfigResourceType
		name string
		want string
	}{
		{ofTopic, "a", "retention.ms=77 source=1 ro=false type=5 retention.ms=77(1)"},
		{ofTopic, "a", "segment.bytes=2000000 source=4 ro=false type=3 log.segment.bytes=2000000(4) log.segment.bytes=1073741824(5)"},
		{ofTopic, "a", "cleanup.policy=delete source=5 ro=false type=7 log.cleanup.policy=delete(5)"},
		{ofTopic, "a", "segment.ms=604800000 source=5 ro=false type=5"},
		{ofBroker, "1", "broker.rack=<null> source=5 ro=true type=2"},
		{ofBroker, "1", "num.partitions=1 source=5 ro=true type=3 num.partitions=1(5)"},
		{ofBroker, "1", "node.id=1 source=4 ro=true type=3 node.id=1(4) node.id=1(5)"},
		{ofBroker, "1", "log.cleaner.threads=1 source=5 ro=false type=3 log.cleaner.threads=1(5)"},
	} {
		name, _, _ := strings.Cut(c.want, "=")
		req := describing(c.kind, c.name, name, "no.such")
		req.IncludeSynonyms, req.IncludeDocumentation = true, true
		got := ask[*kmsg.DescribeConfigsResponse](b, 4, req).Resources[0].Configs
		if len(got) != 1 || shownAs(got[0]) != c.want || len(said(got[0].Documentation)) < 20 {
			t.Errorf("%+v, want %s", got, c.want)
		}
	}
}

func TestDescribeConfigsRefusals(t *testing.T) {
	b := start(t, nil)
	for _, c := range []struct {
		kind kmsg.ConfigResourceType
		name string
		want int16
		said string
	}{
		{ofTopic, "missing", kerr.UnknownTopicOrPartition.Code, ""},
		{ofTopic, "", kerr.InvalidTopicException.Code, "empty string"},
		{ofTopic, "bad name", kerr.InvalidTopicException.Code, "bad name"},
		{ofBroker, "2", kerr.InvalidRequest.Code, "expected 1"},
		{ofBroker, "x", kerr.InvalidRequest.Code, "must be an integer"},
		{ofBroker, "", 0, ""},
		{kmsg.ConfigResourceTypeBrokerLogger, "1", kerr.InvalidRequest.Code, "Unsupported"},
		{3, "x", kerr.InvalidRequest.Code, "Unsupported"},
	} {
		r := ask[*kmsg.DescribeConfigsResponse](b, 4, describing(c.kind, c.name)).Resources[0]
		if r.ErrorCode != c.want || r.ErrorMessage == nil || !strings.Contains(*r.ErrorMessage, c.said) || len(r.Configs) != 0 {
			t.Errorf("%d %q: %d %s, %d settings", c.kind, c.name, r.ErrorCode, said(r.ErrorMessage), len(r.Configs))
		}
	}
}
