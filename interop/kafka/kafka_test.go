package kafka

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/skeinstream/skein/interop/internal/report"
)

func TestMain(m *testing.M) { report.Main(m) }

// The peers themselves are shown to work before anything is said with them.
func TestKafkaStartsAndItsToolsRun(t *testing.T) {
	for _, version := range []string{V4, V3} {
		t.Run(version, func(t *testing.T) {
			b := start(t, Options{Version: version})
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			run(t, b, ctx, TopicCommand, "--bootstrap-server", b.Addr, "--create", "--topic", "seen", "--partitions", "3")
			got := run(t, b, ctx, TopicCommand, "--bootstrap-server", b.Addr, "--describe", "--topic", "seen")
			if !strings.Contains(got, "PartitionCount: 3") {
				t.Errorf("describing the topic: %s", got)
			}
		})
	}
}

func TestKafkaSecureListenerTakesEachMechanism(t *testing.T) {
	b := start(t, Options{Secure: true})
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	if err := b.AddScramUser(ctx); err != nil {
		t.Fatal(err)
	}
	s := b.Security
	ca, err := os.ReadFile(s.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	mechanisms := map[string]kgo.Opt{
		"plain": kgo.SASL(plain.Auth{User: s.User, Pass: s.Password}.AsMechanism()),
		"scram": kgo.SASL(scram.Auth{User: s.User, Pass: s.Password}.AsSha512Mechanism()),
	}
	for name, mechanism := range mechanisms {
		t.Run(name, func(t *testing.T) {
			c, err := kgo.NewClient(kgo.SeedBrokers(s.Addr), kgo.DialTLSConfig(&tls.Config{RootCAs: roots}), mechanism)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if err := c.Ping(ctx); err != nil {
				t.Error(err)
			}
		})
	}
}

func start(t *testing.T, o Options) *Broker {
	t.Helper()
	o.Dir = t.TempDir()
	b, err := Start(t.Context(), o)
	if errors.Is(err, ErrUnavailable) {
		report.MissingPeer(t, "kafka "+o.Version, err)
		t.SkipNow()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Stop() })
	report.Note(t, report.Run, "kafka "+b.Tools.Version, "broker and tools")
	return b
}

func run(t *testing.T, b *Broker, ctx context.Context, class string, args ...string) string {
	t.Helper()
	out, err := b.Tools.Run(ctx, class, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
