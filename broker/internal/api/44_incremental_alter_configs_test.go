package api

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	set = kmsg.IncrementalAlterConfigOpSet
	del = kmsg.IncrementalAlterConfigOpDelete
	add = kmsg.IncrementalAlterConfigOpAppend
	sub = kmsg.IncrementalAlterConfigOpSubtract
)

type step struct {
	op    kmsg.IncrementalAlterConfigOp
	key   string
	value string // "<null>": null
}

func incrementing(kind kmsg.ConfigResourceType, name string, steps ...step) *kmsg.IncrementalAlterConfigsRequest {
	r := kmsg.NewIncrementalAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = kind, name
	for _, s := range steps {
		k := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		k.Op, k.Name = s.op, s.key
		if s.value != "<null>" {
			k.Value = &s.value
		}
		r.Configs = append(r.Configs, k)
	}
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.Resources = append(req.Resources, r)
	return req
}

func (b *testBroker) increment(req *kmsg.IncrementalAlterConfigsRequest) kmsg.IncrementalAlterConfigsResponseResource {
	b.t.Helper()
	return ask[*kmsg.IncrementalAlterConfigsResponse](b, 1, req).Resources[0]
}

// T37: SET, DELETE, APPEND and SUBTRACT, one after the other on one topic, with what is left each time.
func TestIncrementalAlterConfigsChangesKeyByKey(t *testing.T) {
	b := start(t, nil)
	b.create(topic("a", 1, 1, "segment.ms", "9"))
	for _, c := range []struct {
		step
		want map[string]string // beside segment.ms
	}{
		{step{set, "retention.ms", " 77 "}, map[string]string{"retention.ms": " 77 "}},
		{step{del, "retention.ms", "<null>"}, nil},
		{step{del, "retention.ms", "ignored"}, nil},
		{step{del, "no.such", "<null>"}, nil},
		{step{add, "cleanup.policy", "compact"}, map[string]string{"cleanup.policy": "delete,compact"}},
		{step{add, "cleanup.policy", "compact,delete"}, map[string]string{"cleanup.policy": "delete,compact"}},
		{step{sub, "cleanup.policy", "delete"}, map[string]string{"cleanup.policy": "compact"}},
		{step{sub, "cleanup.policy", "zzz"}, map[string]string{"cleanup.policy": "compact"}},
		{step{sub, "cleanup.policy", "compact"}, map[string]string{"cleanup.policy": ""}},
		{step{add, "cleanup.policy", "compact"}, map[string]string{"cleanup.policy": "compact"}},
	} {
		if r := b.increment(incrementing(ofTopic, "a", c.step)); r.ErrorCode != 0 || r.ErrorMessage != nil {
			t.Fatalf("%+v: %d %s", c.step, r.ErrorCode, said(r.ErrorMessage))
		}
		want := map[string]string{"segment.ms": "9"}
		maps.Copy(want, c.want)
		if got := b.Catalog.Snapshot().Topic("a").Configs; !maps.Equal(got, want) {
			t.Errorf("after %+v: %v, want %v", c.step, got, want)
		}
	}
}

// Kafka 4.4's answers, probed one by one.
func TestIncrementalAlterConfigsRefusals(t *testing.T) {
	b := start(t, nil)
	b.create(topic("a", 1, 1))
	for _, c := range []struct {
		req  *kmsg.IncrementalAlterConfigsRequest
		want *kerr.Error
		said string
	}{
		{incrementing(ofTopic, "a", step{set, "retention.mss", "1"}), kerr.InvalidConfig, "did you mean retention.ms?"},
		{incrementing(ofTopic, "a", step{set, "retention.ms", ""}), kerr.InvalidConfig, "not a number"},
		{incrementing(ofTopic, "a", step{set, "retention.ms", "1"}, step{set, "segment.ms", "-1"}), kerr.InvalidConfig, "at least 1"},
		{incrementing(ofTopic, "a", step{add, "cleanup.policy", "zzz"}), kerr.InvalidConfig, "zzz"},
		{incrementing(ofTopic, "a", step{add, "retention.ms", "5"}), kerr.InvalidConfig, "not LIST"},
		{incrementing(ofTopic, "a", step{sub, "no.such", "5"}), kerr.InvalidConfig, "not LIST"},
		{incrementing(ofTopic, "a", step{set, "retention.ms", "<null>"}), kerr.InvalidRequest, "Null value"},
		{incrementing(ofTopic, "a", step{add, "cleanup.policy", "<null>"}), kerr.InvalidRequest, "Null value"},
		{incrementing(ofTopic, "a", step{set, "", "<null>"}), kerr.InvalidRequest, "Null value"},
		{incrementing(ofTopic, "a", step{9, "cleanup.policy", "compact"}), kerr.InvalidRequest, "Unknown operations type 9"},
		{incrementing(ofTopic, "a", step{set, "retention.ms", "1"}, step{del, "retention.ms", "<null>"}), kerr.InvalidRequest, "duplicate config keys"},
		{incrementing(ofTopic, "x", step{set, "retention.ms", "1"}), kerr.UnknownTopicOrPartition, "does not exist"},
		{incrementing(ofTopic, "x"), kerr.UnknownTopicOrPartition, "does not exist"},
		{incrementing(ofTopic, "x", step{set, "no.such", "1"}), kerr.InvalidConfig, "no.such"},
		{incrementing(ofTopic, "", step{set, "retention.ms", "1"}), kerr.InvalidRequest, "Default topic resources"},
		{incrementing(ofTopic, "bad name", step{set, "retention.ms", "1"}), kerr.InvalidTopicException, "bad name"},
		{incrementing(3, "x", step{set, "a", "1"}), kerr.InvalidRequest, "Unsupported"},
		{incrementing(ofBroker, "1", step{set, "num.partitions", "3"}), kerr.InvalidRequest, "dynamically"},
		{incrementing(ofBroker, "", step{set, "log.retention.hours", "3"}), kerr.InvalidRequest, "dynamically"},
		{incrementing(ofBroker, "", step{set, "log.retention.ms", "0"}), kerr.InvalidRequest, "log.retention.ms"},
		{incrementing(ofBroker, "1", step{set, "log.cleaner.threads", "x"}), kerr.InvalidRequest, "not a number"},
		{incrementing(ofBroker, "2", step{set, "log.cleaner.threads", "2"}), kerr.InvalidRequest, "expected 1"},
		{incrementing(ofBroker, "x", step{set, "log.cleaner.threads", "2"}), kerr.InvalidRequest, "must be an integer"},
		{incrementing(ofBroker, "", step{add, "log.retention.ms", "2"}), kerr.InvalidConfig, "not LIST"},
		{incrementing(ofBroker, "", step{set, "log.cleaner.thread", "2"}), kerr.InvalidConfig, "did you mean log.cleaner.threads?"},
	} {
		r := b.increment(c.req)
		if r.ErrorCode != c.want.Code || !strings.Contains(said(r.ErrorMessage), c.said) {
			t.Errorf("%+v: %d %s, want %d %s", c.req.Resources[0], r.ErrorCode, said(r.ErrorMessage), c.want.Code, c.said)
		}
	}
	if got := b.Catalog.Snapshot().Topic("a").Configs; len(got) != 0 {
		t.Errorf("a refused change left %v", got)
	}
}

func TestIncrementalAlterConfigsOfAResourceThatIsNamedTwice(t *testing.T) {
	b := start(t, nil)
	b.create(topic("a", 1, 1), topic("b", 1, 1))
	req := incrementing(ofTopic, "a", step{set, "retention.ms", "1"})
	req.Resources = append(req.Resources, incrementing(ofTopic, "b", step{set, "retention.ms", "8"}).Resources[0], req.Resources[0])
	var codes []int16
	for _, r := range ask[*kmsg.IncrementalAlterConfigsResponse](b, 1, req).Resources {
		codes = append(codes, r.ErrorCode)
	}
	if len(codes) != 3 || codes[0] != kerr.InvalidRequest.Code || codes[1] != 0 || codes[2] != kerr.InvalidRequest.Code {
		t.Errorf("%v", codes)
	}
	if got := b.Catalog.Snapshot().Topic("b").Configs["retention.ms"]; got != "8" {
		t.Errorf("b has %q", got)
	}
}

func TestIncrementalAlterConfigsValidateOnlyChangesNothing(t *testing.T) {
	b := start(t, nil)
	b.create(topic("a", 1, 1))
	for _, c := range []struct {
		value string
		want  int16
	}{{"1", 0}, {"x", kerr.InvalidConfig.Code}} {
		req := incrementing(ofTopic, "a", step{set, "retention.ms", c.value})
		req.ValidateOnly = true
		if r := b.increment(req); r.ErrorCode != c.want || len(b.Catalog.Snapshot().Topic("a").Configs) != 0 {
			t.Errorf("%+v", r)
		}
	}
}

func TestBrokerSettingsChangedWhileRunningAreInForce(t *testing.T) {
	b := start(t, nil)
	b.create(topic("a", 1, 1))
	retention := func() string {
		req := describing(ofTopic, "a", "retention.ms")
		req.IncludeSynonyms = true
		return shownAs(ask[*kmsg.DescribeConfigsResponse](b, 4, req).Resources[0].Configs[0])
	}
	for _, c := range []struct {
		broker string
		step   step
		want   string
	}{
		{"", step{set, "log.retention.ms", "100"}, "retention.ms=100 source=3 ro=false type=5 log.retention.ms=100(3) log.retention.hours=168(5)"},
		{"1", step{set, "log.retention.ms", "200"}, "retention.ms=200 source=2 ro=false type=5 log.retention.ms=200(2) log.retention.ms=100(3) log.retention.hours=168(5)"},
		{"", step{del, "log.retention.ms", "<null>"}, "retention.ms=200 source=2 ro=false type=5 log.retention.ms=200(2) log.retention.hours=168(5)"},
		{"1", step{del, "log.retention.ms", "<null>"}, "retention.ms=604800000 source=5 ro=false type=5"},
	} {
		if r := b.increment(incrementing(ofBroker, c.broker, c.step)); r.ErrorCode != 0 {
			t.Fatalf("%+v: %d %s", c.step, r.ErrorCode, said(r.ErrorMessage))
		}
		if got := retention(); got != c.want {
			t.Errorf("after %q %+v: %s, want %s", c.broker, c.step, got, c.want)
		}
	}
	if n := len(b.Catalog.Snapshot().ConfiguredBrokers()); n != 0 {
		t.Errorf("%d brokers have settings left", n)
	}
}

func TestIncrementalAlterConfigsOfLists(t *testing.T) {
	const list = "leader.replication.throttled.replicas"
	b := start(t, nil)
	b.create(topic("a", 1, 1))
	for _, c := range []struct {
		step step
		want string
	}{
		{step{set, list, "1:1,2:1,1:1,3:1"}, "1:1,2:1,1:1,3:1"},
		{step{add, list, "3:1,4:1,4:1"}, "1:1,2:1,1:1,3:1,4:1"},
		{step{sub, list, "1:1,9:1,4:1"}, "2:1,1:1,3:1"},
		{step{sub, list, "1:1,1:1,2:1,3:1"}, ""},
	} {
		r := b.increment(incrementing(ofTopic, "a", c.step))
		if got := b.Catalog.Snapshot().Topic("a").Configs[list]; r.ErrorCode != 0 || got != c.want {
			t.Errorf("%+v: %d %s, %q", c.step, r.ErrorCode, said(r.ErrorMessage), got)
		}
	}
}

// TestListsOfManyItems: looking for each item in the list, one after the other, took minutes, and kept all changes waiting.
func TestListsOfManyItems(t *testing.T) {
	var many []string
	for i := range 200_000 {
		many = append(many, fmt.Sprint(i))
	}
	if got := added(nil, many); len(got) != len(many) {
		t.Errorf("%d items were added", len(got))
	}
	if got := subtracted(many, slices.Clone(many)); len(got) != 0 {
		t.Errorf("%d items are left", len(got))
	}
}

func TestLongValuesAreShortInTheLog(t *testing.T) {
	told := brief(map[string]string{"short": "1", "long": strings.Repeat("0:1,", 1<<18)})
	if told["short"] != "1" || len(told["long"]) > messageMax+3 {
		t.Errorf("%d bytes of a long value", len(told["long"]))
	}
}
