// Package cluster shows package client at a real Apache Kafka: every door that it knows opens.
package cluster

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl"

	"github.com/skeinstream/skein/client"
	"github.com/skeinstream/skein/interop/internal/report"
	"github.com/skeinstream/skein/interop/internal/target"
	"github.com/skeinstream/skein/interop/kafka"
)

func TestMain(m *testing.M) { report.Main(m) }

// patience ends what fails.
const patience = 3 * time.Minute

// reauthentication is how long the broker trusts what a connection has shown (KIP-368).
const reauthentication = 3 * time.Second

func TestEveryDoorOfAKafkaOpens(t *testing.T) {
	b := target.Kafka(t, kafka.Options{Secure: true, Settings: map[string]string{
		"listener.name.secure.plain.connections.max.reauth.ms": fmt.Sprint(reauthentication.Milliseconds()),
	}})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := b.AddScramUser(ctx); err != nil {
		t.Fatal(err)
	}
	s := b.Security
	secret := client.Text(s.Password)
	authority := client.TLSFiles{CA: s.CAFile}
	doors := []struct {
		name string
		tls  client.TLSFiles
		sasl sasl.Mechanism
	}{
		{"PLAIN", authority, client.Plain(s.User, secret)},
		{"SCRAM-SHA-256", authority, client.ScramSHA256(s.User, secret)},
		{"SCRAM-SHA-512", authority, client.ScramSHA512(s.User, secret)},
		{"OAUTHBEARER", authority, client.OAuthBearer(token("orders-app"), nil)},
		{"a client certificate", client.TLSFiles{CA: s.CAFile, Cert: s.ClientCertFile, Key: s.ClientKeyFile}, client.Plain(s.User, secret)},
		{"another server name", client.TLSFiles{CA: s.CAFile, ServerName: "localhost"}, client.Plain(s.User, secret)},
	}
	for i, door := range doors {
		t.Run(door.name, func(t *testing.T) {
			there(ctx, t, behind(t, s, door.tls, door.sasl), fmt.Sprintf("door-%d", i))
		})
	}
	report.Note(t, report.Run, "package client on kafka "+kafka.V4, "%d ways through a SASL_SSL listener", len(doors))
	t.Run("a secret is asked for again", func(t *testing.T) { renewed(ctx, t, s) })
	t.Run("wrong keys", func(t *testing.T) { refused(ctx, t, s) })
}

// token is a JSON web token with the algorithm none, which Kafka's development mode accepts.
func token(user string) client.Secret {
	encode := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	return func(context.Context) (string, error) {
		now := time.Now()
		claims := fmt.Sprintf(`{"sub":%q,"iat":%d,"exp":%d}`, user, now.Unix(), now.Add(time.Hour).Unix())
		return encode(`{"alg":"none"}`) + "." + encode(claims) + ".", nil
	}
}

func behind(t *testing.T, s *kafka.Security, files client.TLSFiles, mechanism sasl.Mechanism, more ...kgo.Opt) *kgo.Client {
	t.Helper()
	trust, err := files.Config()
	if err != nil {
		t.Fatal(err)
	}
	cfg := client.Config{Brokers: []string{s.Addr}, TLS: trust, SASL: mechanism, Options: more}
	cl, err := kgo.NewClient(cfg.KgoOptions()...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// there has a record go in, and come out again.
func there(ctx context.Context, t *testing.T, cl *kgo.Client, topic string) {
	t.Helper()
	create := kmsg.NewPtrCreateTopicsRequest()
	asked := kmsg.NewCreateTopicsRequestTopic()
	asked.Topic, asked.NumPartitions, asked.ReplicationFactor = topic, 1, 1
	create.Topics = append(create.Topics, asked)
	if _, err := create.RequestWith(ctx, cl); err != nil {
		t.Fatal(err)
	}
	if err := cl.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: []byte("behind the door")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	cl.AddConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}})
	got := cl.PollFetches(ctx)
	if err := got.Err(); err != nil {
		t.Fatal(err)
	}
	if all := got.Records(); len(all) != 1 || string(all[0].Value) != "behind the door" {
		t.Errorf("got %d records", len(all))
	}
}

// renewed: a connection that is kept authenticates anew with the secret of that time.
func renewed(ctx context.Context, t *testing.T, s *kafka.Security) {
	var asked atomic.Int32
	cl := behind(t, s, client.TLSFiles{CA: s.CAFile}, client.Plain(s.User, func(context.Context) (string, error) {
		asked.Add(1)
		return s.Password, nil
	}))
	topics := kmsg.NewPtrMetadataRequest()
	topics.Topics = []kmsg.MetadataRequestTopic{}
	ask := func() int32 {
		if _, err := topics.RequestWith(ctx, cl); err != nil {
			t.Fatal(err)
		}
		return asked.Load()
	}
	first := ask()
	for began := time.Now(); ask() == first; {
		if time.Since(began) > 10*reauthentication {
			t.Fatalf("the secret was asked for %d times in %v", first, time.Since(began))
		}
		<-time.After(reauthentication / 10) // the broker has a clock of its own
	}
}

func refused(ctx context.Context, t *testing.T, s *kafka.Security) {
	trust := client.TLSFiles{CA: s.CAFile}
	wrong := client.Text("x")
	for _, c := range []struct {
		name      string
		files     client.TLSFiles
		mechanism sasl.Mechanism
		check     func(error) bool
	}{
		{"wrong password", trust, client.Plain(s.User, wrong), unauthenticated},
		{"wrong SCRAM password", trust, client.ScramSHA512(s.User, wrong), unauthenticated},
		{"wrong token", trust, client.OAuthBearer(wrong, nil), unauthenticated},
		{"unknown authority", client.TLSFiles{}, client.Plain(s.User, client.Text(s.Password)), noHandshake},
		{"another name", client.TLSFiles{CA: s.CAFile, ServerName: "kafka.example.com"}, client.Plain(s.User, client.Text(s.Password)), noHandshake},
	} {
		if err := behind(t, s, c.files, c.mechanism, kgo.RetryTimeout(time.Second)).Ping(ctx); !c.check(err) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func unauthenticated(err error) bool { return errors.Is(err, kerr.SaslAuthenticationFailed) }

func noHandshake(err error) bool {
	dial, ok := errors.AsType[*client.DialError](err)
	return ok && dial.TLS
}
