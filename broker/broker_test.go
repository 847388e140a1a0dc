package broker_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"github.com/skeinstream/skein/broker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open starts a broker that ends with the test.
func open(t *testing.T, cfg broker.Config) *broker.Broker {
	t.Helper()
	b, err := broker.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shutdown(t, b) })
	return b
}

func shutdown(t *testing.T, b *broker.Broker) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := b.Shutdown(ctx); err != nil {
		t.Errorf("shutting down: %v", err)
	}
}

// client connects to b inside the process and ends with the test.
func client(t *testing.T, b *broker.Broker, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers("skein:9092"), kgo.Dialer(b.Dialer())}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func createTopic(t *testing.T, c *kgo.Client, name string, partitions int32) {
	t.Helper()
	_, err := kadm.NewClient(c).CreateTopic(t.Context(), partitions, 1, nil, name)
	if err != nil {
		t.Fatalf("creating topic %s: %v", name, err)
	}
}

func produce(t *testing.T, c *kgo.Client, topic string, values ...string) {
	t.Helper()
	for _, v := range values {
		r := &kgo.Record{Topic: topic, Value: []byte(v)}
		if err := c.ProduceSync(t.Context(), r).FirstErr(); err != nil {
			t.Fatalf("producing %q: %v", v, err)
		}
	}
}

// consume reads n values of a topic from its beginning.
func consume(t *testing.T, b *broker.Broker, topic string, n int) []string {
	t.Helper()
	c := client(t, b, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var values []string
	for len(values) < n {
		fetches := c.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("consuming %s after %d of %d: %v", topic, len(values), n, err)
		}
		for _, r := range fetches.Records() {
			values = append(values, string(r.Value))
		}
	}
	return values
}

func TestRecordsOutliveTheBroker(t *testing.T) {
	dir := t.TempDir()
	for run := range 3 {
		b := open(t, broker.Config{Dir: dir})
		c := client(t, b)
		if run == 0 {
			createTopic(t, c, "kept", 1)
		}
		produce(t, c, "kept", fmt.Sprint("of run ", run))
		got := consume(t, b, "kept", run+1)
		if want := fmt.Sprint("of run ", run); got[run] != want {
			t.Errorf("run %d: last value %q, want %q", run, got[run], want)
		}
		shutdown(t, b)
	}
}

func TestADirectoryHasOneBroker(t *testing.T) {
	cfg := broker.Config{Dir: t.TempDir()}
	b := open(t, cfg)
	if _, err := broker.Open(t.Context(), cfg); !errors.Is(err, broker.ErrInUse) {
		t.Errorf("a second broker on the directory: %v, want ErrInUse", err)
	}
	shutdown(t, b)
	shutdown(t, open(t, cfg))
}

func TestBrokersOfOneProcessShareNothing(t *testing.T) {
	a, b := open(t, broker.Config{}), open(t, broker.Config{})
	createTopic(t, client(t, a), "only-here", 1)
	topics, err := kadm.NewClient(client(t, b)).ListTopics(t.Context())
	if err != nil || len(topics) != 0 {
		t.Errorf("the other broker has topics %v (%v), want none", topics.Names(), err)
	}
}

func TestWrongSettingsAreNamed(t *testing.T) {
	for name, c := range map[string]struct{ setting, value, hint string }{
		"unknown": {"num.partition", "3", "num.partitions"},
		"wrong":   {"num.partitions", "many", "num.partitions"},
	} {
		_, err := broker.Open(t.Context(), broker.Config{Settings: map[string]string{c.setting: c.value}})
		if err == nil || !strings.Contains(err.Error(), c.hint) {
			t.Errorf("%s: %v, want an error that names %s", name, err, c.hint)
		}
	}
}

// TestListenersAdvertiseWhatTheyAreTold: P7.16 and T9, each listener its own.
func TestListenersAdvertiseWhatTheyAreTold(t *testing.T) {
	b := open(t, broker.Config{Settings: map[string]string{
		"node.id":              "7",
		"listeners":            "INSIDE://127.0.0.1:0,OUTSIDE://127.0.0.1:0",
		"advertised.listeners": "OUTSIDE://broker.example.com:19092",
	}})
	listeners, err := b.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, len(listeners))
	for _, l := range listeners {
		go func() { served <- b.Serve(l) }()
	}
	port := listeners[0].Addr().(*net.TCPAddr).Port
	for i, want := range []string{fmt.Sprintf("127.0.0.1:%d", port), "broker.example.com:19092"} {
		if got := advertised(t, listeners[i].Addr().String()); got != want {
			t.Errorf("listener %s advertises %s, want %s", listeners[i].Name, got, want)
		}
	}
	shutdown(t, b)
	for range listeners {
		if err := <-served; err != nil {
			t.Errorf("Serve returned %v after Shutdown", err)
		}
	}
}

func advertised(t *testing.T, address string) string {
	t.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(address))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	m, err := kadm.NewClient(c).BrokerMetadata(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d := m.Brokers[0]
	if d.NodeID != 7 || d.Rack != nil {
		t.Errorf("node %d, rack %v; want node 7 and no rack", d.NodeID, d.Rack)
	}
	return fmt.Sprintf("%s:%d", d.Host, d.Port)
}
