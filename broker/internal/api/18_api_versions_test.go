package api

import (
	"bytes"
	"encoding/hex"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// T1, P7.1: Kafka 4.4 answers these bytes to a version that it does not know, whatever the body.
func TestApiVersionsFromTheFutureIsAnsweredInV0(t *testing.T) {
	b := start(t, nil)
	for _, body := range [][]byte{nil, {1, 2, 3}, bytes.Repeat([]byte{0xff}, 100)} {
		want := unhex(t, "0023"+"00000001"+"001200000005")
		if got := b.raw(18, 99, true, body); !bytes.Equal(got, want) {
			t.Errorf("%x: %x, want %x", body, got, want)
		}
	}
	if got := ask[*kmsg.ApiVersionsResponse](b, 0, kmsg.NewPtrApiVersionsRequest()); got.ErrorCode != 0 {
		t.Errorf("the connection does not go on: %d", got.ErrorCode)
	}
}

func named() *kmsg.ApiVersionsRequest {
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = "apache-kafka-java", "4.4.0"
	return req
}

// T2: no tagged-field byte in the header, also when the body is flexible.
func TestApiVersionsResponsesHaveHeaderV0(t *testing.T) {
	b := start(t, nil)
	for v := int16(0); v <= 5; v++ {
		req := named()
		req.SetVersion(v)
		raw := b.raw(18, v, v >= 3, req.AppendTo(nil))
		if raw[0] != 0 || raw[1] != 0 {
			t.Errorf("v%d begins with %x, want the error code 0000", v, raw[:4])
		}
		resp := kmsg.NewPtrApiVersionsResponse()
		resp.Version = v
		if err := resp.ReadFrom(raw); err != nil || len(resp.ApiKeys) != len(b.table) {
			t.Errorf("v%d: %d keys, %v", v, len(resp.ApiKeys), err)
		}
	}
}

// T3, T4: Produce from 0; no key with an empty range; nothing listed that is not served.
func TestWhatIsAdvertisedIsServed(t *testing.T) {
	b := start(t, nil)
	for _, k := range ask[*kmsg.ApiVersionsResponse](b, 0, kmsg.NewPtrApiVersionsRequest()).ApiKeys {
		if k.MinVersion < 0 || k.MinVersion > k.MaxVersion {
			t.Errorf("%s has the range %d to %d", kmsg.NameForKey(k.ApiKey), k.MinVersion, k.MaxVersion)
		}
		if k.ApiKey == 0 && k.MinVersion != 0 {
			t.Errorf("Produce is advertised from %d", k.MinVersion)
		}
		lowest := max(k.MinVersion, b.table[k.ApiKey].min)
		if !b.Supports(k.ApiKey, lowest) || !b.Supports(k.ApiKey, k.MaxVersion) || b.Supports(k.ApiKey, k.MaxVersion+1) {
			t.Errorf("%s is not served from %d to %d", kmsg.NameForKey(k.ApiKey), lowest, k.MaxVersion)
		}
	}
}

// T5: the version from which a request is flexible is the protocol's.
func TestFlexibleVersionsAreTheProtocols(t *testing.T) {
	b := start(t, nil)
	for key, e := range b.table {
		req := kmsg.RequestForKey(key)
		for v := e.min; v <= e.max; v++ {
			req.SetVersion(v)
			if got := b.Flexible(key, v); got != req.IsFlexible() {
				t.Errorf("%s v%d: flexible is %v", kmsg.NameForKey(key), v, got)
			}
		}
	}
}

// T8: a feature is a promise; none is made yet.
func TestNoFeatureIsAnnounced(t *testing.T) {
	resp := ask[*kmsg.ApiVersionsResponse](start(t, nil), 5, named())
	if len(resp.SupportedFeatures)+len(resp.FinalizedFeatures) != 0 || resp.FinalizedFeaturesEpoch != -1 {
		t.Errorf("%+v", resp)
	}
}

func TestApiVersionsRefusals(t *testing.T) {
	b := start(t, nil)
	cluster, other := b.Catalog.ClusterID(), "another"
	for _, c := range []struct {
		what    string
		version int16
		change  func(*kmsg.ApiVersionsRequest)
		want    int16
	}{
		{"a name that KIP-511 does not allow", 3, func(r *kmsg.ApiVersionsRequest) { r.ClientSoftwareName = "bad name!" }, kerr.InvalidRequest.Code},
		{"no name", 4, func(r *kmsg.ApiVersionsRequest) { r.ClientSoftwareName = "" }, kerr.InvalidRequest.Code},
		{"the right cluster and node", 5, func(r *kmsg.ApiVersionsRequest) { r.ClusterID, r.NodeID = &cluster, 1 }, 0},
		{"another cluster", 5, func(r *kmsg.ApiVersionsRequest) { r.ClusterID, r.NodeID = &other, 1 }, kerr.RebootstrapRequired.Code},
		{"another node", 5, func(r *kmsg.ApiVersionsRequest) { r.ClusterID, r.NodeID = &cluster, 7 }, kerr.RebootstrapRequired.Code},
		{"a cluster without a node", 5, func(r *kmsg.ApiVersionsRequest) { r.ClusterID = &cluster }, kerr.InvalidRequest.Code},
		{"a node without a cluster", 5, func(r *kmsg.ApiVersionsRequest) { r.NodeID = 1 }, kerr.InvalidRequest.Code},
	} {
		req := named()
		c.change(req)
		resp := ask[*kmsg.ApiVersionsResponse](b, c.version, req)
		if resp.ErrorCode != c.want || (c.want != 0) != (len(resp.ApiKeys) == 0) {
			t.Errorf("%s: %d with %d keys, want %d", c.what, resp.ErrorCode, len(resp.ApiKeys), c.want)
		}
	}
}
