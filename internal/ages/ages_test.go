package ages

import (
	"cmp"
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/skeinstream/skein/broker"
)

// at is a client of a broker that shows a release of Kafka; "" shows all.
func at(t *testing.T, release string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	given := map[string]string{}
	if release != "" {
		given["skein.emulate.kafka.version"] = release
	}
	b, err := broker.Open(t.Context(), broker.Config{Settings: given})
	if err != nil {
		t.Fatal(err)
	}
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers("skein:9092"), kgo.Dialer(b.Dialer())}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.Close()
		if err := b.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return client
}

// releases are those with transactions, the newest first.
func releases() (all []string) {
	for _, name := range kversion.VersionStrings() {
		if name == "v0.11.0" {
			return append(all, "0.11")
		}
		all = append(all, strings.TrimPrefix(name, "v"))
	}
	return all
}

// lookAlikes are releases that are told by another name: as far as clients see they are the same.
func lookAlikes() map[string]string { return map[string]string{"0.11": "0.11.0", "3.3": "3.4"} }

// R-F5: brokers since Kafka 2.5 fence, older ones do not, and each is named.
func TestEveryReleaseIsKnown(t *testing.T) {
	fences := true
	for _, release := range releases() {
		fences = fences && release != "2.4"
		oldest, err := Ask(t.Context(), at(t, release))
		if err != nil {
			t.Errorf("%s: %v", release, err)
			continue
		}
		if slices.Contains(Unfenced(), release) == fences {
			t.Errorf("%s is among those that do not fence: %t", release, !fences)
		}
		if oldest.Fences() != fences {
			t.Errorf("%s: TxnOffsetCommit v%d fences", release, oldest.Offsets)
		}
		if want := cmp.Or(lookAlikes()[release], release); oldest.Kafka != want {
			t.Errorf("%s is taken for %s", release, oldest.Kafka)
		}
		if !strings.Contains(oldest.String(), oldest.Kafka) || !strings.Contains(oldest.String(), "broker 1") {
			t.Errorf("%s is called %s", release, oldest)
		}
	}
}

// A client that is kept to old versions is as good as an old broker.
func TestTheClientsOwnVersionsCount(t *testing.T) {
	for _, c := range []struct {
		versions *kversion.Versions
		fences   bool
	}{{kversion.V2_4_0(), false}, {kversion.V2_5_0(), true}} {
		oldest, err := Ask(t.Context(), at(t, "", kgo.MaxVersions(c.versions)))
		if err != nil || oldest.Fences() != c.fences {
			t.Errorf("%+v, %v, want %t", oldest, err, c.fences)
		}
	}
}

func TestAClusterThatDoesNotAnswer(t *testing.T) {
	refused := errors.New("connection refused")
	client, err := kgo.NewClient(kgo.RetryTimeout(time.Millisecond), kgo.Dialer(func(context.Context, string, string) (net.Conn, error) { return nil, refused }))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if oldest, err := Ask(ctx, client); err == nil || oldest.Fences() {
		t.Errorf("%+v, %v", oldest, err)
	}
}
