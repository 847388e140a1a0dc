package settings

import (
	"slices"
	"strings"
	"testing"
)

type texts = map[string]string

func topic(t *testing.T, l Layers, overrides texts) Topic {
	t.Helper()
	got, err := ResolveTopic(l, overrides)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestZeroLayersGiveKafkasDefaults(t *testing.T) {
	got := topic(t, Layers{}, nil)
	want := Topic{
		CompressionType: "producer", MaxMessageBytes: 1048588, MaxDecompressedBytes: 2147483639,
		TimestampBeforeMaxMs: int64Max, TimestampAfterMaxMs: 3600000, ValidateFull: true, Durability: Always,
		FlushMessages: int64Max, FlushMs: int64Max, SegmentBytes: 1 << 30, SegmentMs: 604800000,
		SegmentIndexBytes: 10 << 20, IndexIntervalBytes: 4096, FileDeleteDelayMs: 60000, Delete: true,
		RetentionMs: 604800000, RetentionBytes: -1, MinCleanableDirtyRatio: 0.5, MaxCompactionLagMs: int64Max,
		DeleteRetentionMs: 86400000,
	}
	if got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	b, err := ResolveBroker(Layers{})
	if err != nil || b.NumPartitions != 1 || !b.AutoCreateTopics || len(b.Listeners) != 1 || b.Listeners[0].Port != 9092 {
		t.Errorf("%+v, %v", b, err)
	}
}

func TestTheFinestUnitWins(t *testing.T) {
	hours, minutes := texts{"log.retention.hours": "1"}, texts{"log.retention.hours": "1", "log.retention.minutes": "2"}
	for _, c := range []struct {
		layers Layers
		topic  texts
		want   int64
	}{
		{Layers{Static: hours}, nil, 3600000},
		{Layers{Static: minutes}, nil, 120000},
		{Layers{Static: texts{"log.retention.hours": "-1"}}, nil, -1},
		{Layers{Static: texts{"log.retention.hours": "2147483647"}}, nil, 2147483647 * 3600000},
		{Layers{Static: minutes, DynamicDefault: texts{"log.retention.ms": "3"}}, nil, 3},
		{Layers{DynamicDefault: texts{"log.retention.ms": "3"}, DynamicBroker: texts{"log.retention.ms": "4"}}, nil, 4},
		{Layers{DynamicBroker: texts{"log.retention.ms": "4"}}, texts{"retention.ms": "5"}, 5},
	} {
		if got := topic(t, c.layers, c.topic).RetentionMs; got != c.want {
			t.Errorf("%+v, %v: %d, want %d", c.layers, c.topic, got, c.want)
		}
	}
}

func entry(t *testing.T, entries []Entry, name string) Entry {
	t.Helper()
	i := slices.IndexFunc(entries, func(e Entry) bool { return e.Def.Name == name })
	if i < 0 {
		t.Fatalf("%s is not described", name)
	}
	return entries[i]
}

func TestSourcesAndSynonymsAreNamedAsKafkaNamesThem(t *testing.T) {
	static := Layers{Static: texts{"log.segment.bytes": "2000000", "log.retention.hours": "1"}}
	for _, c := range []struct {
		layers   Layers
		topic    texts
		name     string
		value    string
		source   Source
		synonyms string
	}{
		{Layers{}, nil, "segment.bytes", "1073741824", Default, "log.segment.bytes=1073741824(5)"},
		{Layers{}, nil, "retention.ms", "604800000", Default, ""},
		{Layers{}, nil, "remote.storage.enable", "false", Default, ""},
		{static, nil, "segment.bytes", "2000000", StaticBroker, "log.segment.bytes=2000000(4) log.segment.bytes=1073741824(5)"},
		{static, nil, "retention.ms", "3600000", Default, ""},
		{static, texts{"segment.bytes": " 3000000"}, "segment.bytes", "3000000", DynamicTopic,
			"segment.bytes=3000000(1) log.segment.bytes=2000000(4) log.segment.bytes=1073741824(5)"},
		{Layers{Static: static.Static, DynamicBroker: texts{"log.retention.ms": "9"}}, nil, "retention.ms", "9", DynamicBroker,
			"log.retention.ms=9(2) log.retention.hours=1(4) log.retention.hours=168(5)"},
	} {
		e := entry(t, DescribeTopic(c.layers, c.topic), c.name)
		if e.Value != c.value || e.Source != c.source || show(e.Synonyms) != c.synonyms {
			t.Errorf("%s: %q from %d, %s; want %q from %d, %s", c.name, e.Value, e.Source, show(e.Synonyms), c.value, c.source, c.synonyms)
		}
	}
}

func show(synonyms []Synonym) string {
	var all []string
	for _, s := range synonyms {
		all = append(all, s.Name+"="+s.Value+"("+string(rune('0'+s.Source))+")")
	}
	return strings.Join(all, " ")
}

func TestBrokerSettingsAreDescribed(t *testing.T) {
	l := Layers{Static: texts{"node.id": "7"}, DynamicDefault: texts{"log.cleaner.threads": "2"}}
	all := DescribeBroker(l)
	if e := entry(t, all, "node.id"); e.Value != "7" || e.Source != StaticBroker || e.Def.Dynamic {
		t.Errorf("%+v", e)
	}
	if e := entry(t, all, "broker.rack"); !e.Null || e.Source != Default || len(e.Synonyms) != 0 {
		t.Errorf("%+v", e)
	}
	if e := entry(t, all, "log.cleaner.threads"); e.Value != "2" || e.Source != DynamicDefaultBroker || !e.Def.Dynamic {
		t.Errorf("%+v", e)
	}
	if d := DescribeDynamicDefault(l); len(d) != 1 || d[0].Def.Name != "log.cleaner.threads" {
		t.Errorf("%+v", d)
	}
}

func TestListenersAreJoinedWithWhatTheyAdvertise(t *testing.T) {
	b, err := ResolveBroker(Layers{Static: texts{
		"listeners":            "in://127.0.0.1:9092, OUT://[::1]:9093",
		"advertised.listeners": "OUT://example.org:443",
	}})
	want := []Listener{{Name: "IN", Host: "127.0.0.1", Port: 9092}, {Name: "OUT", Host: "::1", Port: 9093, AdvertisedHost: "example.org", AdvertisedPort: 443}}
	if err != nil || !slices.Equal(b.Listeners, want) {
		t.Errorf("%+v, %v", b.Listeners, err)
	}
}

func TestWhatCannotWorkIsRefusedAtTheStart(t *testing.T) {
	for want, static := range map[string]texts{
		"exactly one":                  {"log.dirs": "a,b"},
		"named twice":                  {"listeners": "A://:1,A://:2"},
		"list of NAME://host:port":     {"listeners": "127.0.0.1:9092"},
		"0 to 65535":                   {"listeners": "A://:70000"},
		"not the name of a listener":   {"advertised.listeners": "B://h:1"},
		"nobody can connect":           {"advertised.listeners": "PLAINTEXT://0.0.0.0:1"},
		"say in advertised.listeners":  {"listeners": "A://0.0.0.0:9092"},
		"skein.wal.file.bytes":         {"skein.wal.bytes": "2000000"},
		"address:limit":                {"max.connections.per.ip.overrides": "10.0.0.1"},
		"a.example.com is no IP":       {"max.connections.per.ip.overrides": "10.0.0.1:5,a.example.com:7"},
		"10.0.0.0/8 is no IP":          {"max.connections.per.ip.overrides": "10.0.0.0/8:7"},
		"min.compaction.lag.ms (9) >":  {"log.cleaner.min.compaction.lag.ms": "9", "log.cleaner.max.compaction.lag.ms": "8"},
		"did you mean num.partitions?": {"num.partition": "3"},
	} {
		if err := CheckBroker(static); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", static, err, want)
		}
	}
	if err := CheckBroker(texts{"max.connections.per.ip.overrides": "10.0.0.1:5, [::1]:0"}); err != nil {
		t.Error(err)
	}
}

func TestSettingsThatNeedAStartCannotBeChangedLater(t *testing.T) {
	for name, ok := range map[string]bool{"num.partitions": false, "log.retention.hours": false, "log.retention.ms": true, "message.max.bytes": true} {
		changed := texts{name: "5"}
		err := CheckDynamic(Layers{DynamicDefault: changed}, changed)
		if (err == nil) != ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTopicSettingsThatDoNotGoTogetherAreRefused(t *testing.T) {
	for _, overrides := range []texts{
		{"min.compaction.lag.ms": "9", "max.compaction.lag.ms": "8"},
		{"remote.storage.enable": "true"},
		{"no.such": "1"},
	} {
		if err := CheckTopic(Layers{}, overrides); err == nil {
			t.Errorf("%v is accepted", overrides)
		}
	}
	if err := CheckTopic(Layers{}, texts{"remote.storage.enable": "false", "max.compaction.lag.ms": "8"}); err != nil {
		t.Error(err)
	}
}

// Every setting of the tables has an effect: it is read into one of the structs, or its text says that it has none.
func TestEverySettingIsReadOrSaysThatItHasNoEffect(t *testing.T) {
	read := map[string]bool{"listeners": true, "advertised.listeners": true, "max.connections.per.ip.overrides": true, "remote.storage.enable": true}
	note := func(name string) (Value, error) {
		read[name] = true
		return Value{Text: "gzip"}, nil
	}
	for _, codec := range []string{"gzip", "lz4", "zstd"} {
		read["compression."+codec+".level"] = true
	}
	readTopic(&reader{value: note})
	for _, d := range Topics().All() {
		if !read[d.Name] && !strings.Contains(d.Doc, "without effect") {
			t.Errorf("topic setting %s is never read", d.Name)
		}
	}
	readBroker(&reader{value: note})
	for _, d := range Brokers().All() {
		if !read[d.Name] && d.Group != "Defaults for topics" && !strings.Contains(d.Doc, "without effect") {
			t.Errorf("broker setting %s is never read", d.Name)
		}
	}
}
