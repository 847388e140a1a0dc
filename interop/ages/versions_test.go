package ages

import (
	"context"
	"maps"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/interop/internal/report"
	"github.com/skeinstream/skein/interop/internal/wire"
)

// span is from which version to which a request is served.
type span struct{ min, max int16 }

// shown is what a broker says of itself.
type shown struct {
	requests map[int16]span
	features map[string]int16 // that are in force
}

// shows asks as franz-go does, which finds the newest ApiVersions that there is.
func shows(ctx context.Context, t *testing.T, addr string) shown {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(addr))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = "skein", "1"
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		t.Fatal(err)
	}
	s := shown{map[int16]span{}, map[string]int16{}}
	for _, k := range resp.ApiKeys {
		s.requests[k.ApiKey] = span{k.MinVersion, k.MaxVersion}
	}
	for _, f := range resp.FinalizedFeatures {
		s.features[f.Name] = f.MaxVersionLevel
	}
	return s
}

// holdsToKafka holds skein.emulate.kafka.version to a real broker: as far as Skein serves a request at all, it shows the versions that the
// release has, and refuses, as it does, what comes behind.
func holdsToKafka(t *testing.T, release, addr string, whole shown) {
	ours := emulating(t, release)
	real, got := shows(t.Context(), t, addr), shows(t.Context(), t, ours)
	if want := servable(whole.requests, real.requests); !maps.Equal(got.requests, want) {
		differing(t, got.requests, want)
	}
	if got.features["transaction.version"] != real.features["transaction.version"] {
		t.Errorf("transaction.version is %d here, and %d there", got.features["transaction.version"], real.features["transaction.version"])
	}
	refused := 0
	for key := range got.requests {
		refused += beyond(t, key, got.requests[key].max+1, ours, addr, real.requests[key].max)
	}
	if !t.Failed() {
		report.Note(t, report.Shown, "kafka "+release+" emulated", "%d kinds of requests in its versions; %d versions beyond refused as there", len(got.requests), refused)
	}
}

// servable is what is left of all that Skein serves on a broker that has no more than Kafka.
func servable(whole, real map[int16]span) map[int16]span {
	left := map[int16]span{}
	for key, s := range whole {
		r, there := real[key]
		if s.max = min(s.max, r.max); there && s.min <= s.max {
			left[key] = s
		}
	}
	return left
}

func differing(t *testing.T, got, want map[int16]span) {
	t.Helper()
	for key := range 100 {
		g, shown := got[int16(key)]
		w, wanted := want[int16(key)]
		if g != w || shown != wanted {
			t.Errorf("%s: %v (%t), want %v (%t)", kmsg.NameForKey(int16(key)), g, shown, w, wanted)
		}
	}
}

// beyond sends a version that neither has: both close the connection. ApiVersions alone is answered.
func beyond(t *testing.T, key, version int16, ours, kafkas string, newest int16) int {
	t.Helper()
	if version != newest+1 || kmsg.Key(key) == kmsg.ApiVersions {
		return 0
	}
	req := kmsg.RequestForKey(key)
	if req.MaxVersion() < version {
		return 0 // nobody knows how that would look
	}
	req.SetVersion(version)
	for name, addr := range map[string]string{"Skein": ours, "Kafka": kafkas} {
		if _, err := wire.Ask[kmsg.Response](t.Context(), addr, "ages", req); err == nil {
			t.Errorf("%s answers %s v%d", name, kmsg.NameForKey(key), version)
		}
	}
	return 1
}
