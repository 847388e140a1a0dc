package ages

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/skeinstream/skein/client"
)

// Since is the version of TxnOffsetCommit that says the generation, the member and its instance.
const Since = 3

// Oldest is the broker of a cluster that knows least of offsets in transactions. A group's coordinator moves from broker to broker, also in
// the middle of a rolling upgrade of them, so that the oldest says what may be relied on.
type Oldest struct {
	// Broker is how people call it, with its address.
	Broker string
	// Offsets is the newest TxnOffsetCommit that it, and the client, have; -1 is none.
	Offsets int16
	// Kafka is the newest release of Kafka that has nothing which the broker lacks, such as "2.4"; "" if there is none.
	Kafka string
}

// Fences says that every broker can tell the offsets of members apart by their generations.
func (o Oldest) Fences() bool { return o.Offsets >= Since }

// Unfenced are the releases with transactions that know no generations in them, the oldest first.
func Unfenced() []string {
	return []string{"0.11", "1.0", "1.1", "2.0", "2.1", "2.2", "2.3", "2.4"}
}

func (o Oldest) String() string {
	if o.Kafka == "" {
		return o.Broker
	}
	return fmt.Sprintf("%s, which speaks as Kafka %s does", o.Broker, o.Kafka)
}

// Ask asks every broker of the cluster for its versions. Brokers that do not answer are left out, as long as one does. Nothing is changed by
// it anywhere.
func Ask(ctx context.Context, client *kgo.Client) (Oldest, error) {
	brokers, err := addresses(ctx, client)
	if err != nil {
		return Oldest{}, fmt.Errorf("asking the brokers for their versions: %w", err)
	}
	var oldest Oldest
	var failed []error
	for _, b := range brokers {
		versions, err := ask(ctx, client.Broker(int(b.NodeID)))
		if err != nil {
			failed = append(failed, fmt.Errorf("asking broker %d for its versions: %w", b.NodeID, err))
			continue
		}
		if o := judge(b, versions, limits(client)); oldest.Broker == "" || o.Offsets < oldest.Offsets {
			oldest = o
		}
	}
	if oldest.Broker == "" {
		return Oldest{}, errors.Join(failed...)
	}
	return oldest, nil
}

func addresses(ctx context.Context, client *kgo.Client) ([]kmsg.MetadataResponseBroker, error) {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{} // none: null is all
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		return nil, err
	}
	if len(resp.Brokers) == 0 {
		return nil, errors.New("the cluster names no broker")
	}
	return resp.Brokers, nil
}

// patience is for a broker that may be down: the others answer without it.
const patience = 5 * time.Second

func ask(ctx context.Context, broker *kgo.Broker) (*kversion.Versions, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	got, err := broker.RetriableRequest(ctx, client.ApiVersions())
	if err != nil {
		return nil, err
	}
	resp := got.(*kmsg.ApiVersionsResponse)
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return nil, err
	}
	return kversion.FromApiVersionsResponse(resp), nil
}

// limits are the newest versions that the client sends; nil is no limit.
func limits(client *kgo.Client) *kversion.Versions {
	limits, _ := client.OptValue(kgo.MaxVersions).(*kversion.Versions)
	return limits
}

func judge(b kmsg.MetadataResponseBroker, versions, limits *kversion.Versions) Oldest {
	o := Oldest{Broker: fmt.Sprintf("broker %d (%s:%d)", b.NodeID, b.Host, b.Port), Kafka: Release(versions)}
	o.Offsets, _ = versions.LookupMaxKeyVersion(int16(kmsg.TxnOffsetCommit))
	if limits != nil {
		most, _ := limits.LookupMaxKeyVersion(int16(kmsg.TxnOffsetCommit))
		o.Offsets = min(o.Offsets, most)
	}
	return o
}

// Release is the newest release of Kafka of which a broker has all versions, as far as it has its requests at all: others than Kafka serve fewer
// of them. It is "" if there is none.
func Release(versions *kversion.Versions) string {
	for _, name := range kversion.VersionStrings() {
		if has(versions, kversion.FromString(name)) {
			return strings.TrimPrefix(name, "v")
		}
	}
	return ""
}

func has(versions, release *kversion.Versions) bool {
	all := true
	release.EachMaxKeyVersion(func(key, most int16) {
		if got, served := versions.LookupMaxKeyVersion(key); served && got < most {
			all = false
		}
	})
	return all
}
