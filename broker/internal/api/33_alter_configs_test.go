package api

import (
	"maps"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func replacing(kind kmsg.ConfigResourceType, name string, configs ...string) *kmsg.AlterConfigsRequest {
	r := kmsg.NewAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = kind, name
	for i := 0; i+1 < len(configs); i += 2 {
		k := kmsg.NewAlterConfigsRequestResourceConfig()
		k.Name, k.Value = configs[i], &configs[i+1]
		r.Configs = append(r.Configs, k)
	}
	req := kmsg.NewPtrAlterConfigsRequest()
	req.Resources = append(req.Resources, r)
	return req
}

func TestAlterConfigsReplacesAll(t *testing.T) {
	b := start(t, nil)
	b.create(topic("a", 1, 1))
	for v, c := range []struct {
		configs []string
		want    map[string]string
	}{
		{[]string{"retention.ms", "5", "segment.ms", "6"}, map[string]string{"retention.ms": "5", "segment.ms": "6"}},
		{[]string{"segment.ms", "7"}, map[string]string{"segment.ms": "7"}},
		{nil, map[string]string{}},
	} {
		r := ask[*kmsg.AlterConfigsResponse](b, int16(v), replacing(ofTopic, "a", c.configs...)).Resources[0]
		if got := b.Catalog.Snapshot().Topic("a").Configs; r.ErrorCode != 0 || r.ErrorMessage != nil || !maps.Equal(got, c.want) {
			t.Errorf("v%d: %+v, %v", v, r, got)
		}
	}
}

// Kafka 4.4's answers, probed one by one; the resource that is named twice makes it answer nothing at all.
func TestAlterConfigsRefusals(t *testing.T) {
	b := start(t, nil)
	b.create(topic("a", 1, 1, "segment.ms", "7"))
	null := replacing(ofTopic, "a", "segment.ms", "1")
	null.Resources[0].Configs[0].Value = nil
	nameless := replacing(ofTopic, "a", "", "1")
	nameless.Resources[0].Configs[0].Value = nil
	twice := replacing(ofTopic, "a", "segment.ms", "1")
	twice.Resources = append(twice.Resources, twice.Resources[0])
	for what, c := range map[string]struct {
		req  *kmsg.AlterConfigsRequest
		want *kerr.Error
	}{
		"bad value":       {replacing(ofTopic, "a", "segment.ms", "-7"), kerr.InvalidConfig},
		"unknown setting": {replacing(ofTopic, "a", "zz", "2"), kerr.InvalidConfig},
		"null":            {null, kerr.InvalidRequest},
		"null of no name": {nameless, kerr.InvalidRequest},
		"key twice":       {replacing(ofTopic, "a", "segment.ms", "1", "segment.ms", "2"), kerr.InvalidRequest},
		"unknown topic":   {replacing(ofTopic, "x", "segment.ms", "1"), kerr.UnknownTopicOrPartition},
		"resource twice":  {twice, kerr.InvalidRequest},
		"fixed setting":   {replacing(ofBroker, "1", "node.id", "2"), kerr.InvalidRequest},
	} {
		for _, r := range ask[*kmsg.AlterConfigsResponse](b, 2, c.req).Resources {
			if r.ErrorCode != c.want.Code || r.ErrorMessage == nil {
				t.Errorf("%s: %d %s", what, r.ErrorCode, said(r.ErrorMessage))
			}
		}
	}
	if got := b.Catalog.Snapshot().Topic("a").Configs; !maps.Equal(got, map[string]string{"segment.ms": "7"}) {
		t.Errorf("%v", got)
	}
}

func TestAlterConfigsValidateOnlyChangesNothing(t *testing.T) {
	b := start(t, nil)
	b.create(topic("a", 1, 1, "segment.ms", "7"))
	req := replacing(ofTopic, "a", "retention.ms", "2")
	req.ValidateOnly = true
	r := ask[*kmsg.AlterConfigsResponse](b, 2, req).Resources[0]
	if got := b.Catalog.Snapshot().Topic("a").Configs; r.ErrorCode != 0 || got["segment.ms"] != "7" {
		t.Errorf("%+v, %v", r, got)
	}
}
