package client

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// kafka makes the client that c stands for, without connecting.
func kafka(t *testing.T, c Config) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(c.KgoOptions()...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

func TestTheZeroValueReachesABrokerOnThisMachine(t *testing.T) {
	cl := kafka(t, Config{})
	if got := cl.OptValue(kgo.SeedBrokers); !slices.Equal(got.([]string), []string{DefaultBroker}) {
		t.Errorf("brokers %v", got)
	}
	if got := cl.OptValue(kgo.ClientID); got != "skein" {
		t.Errorf("client id %v", got)
	}
}

func TestOptionsOfFranzGoWinOverFields(t *testing.T) {
	cl := kafka(t, Config{ClientID: "field", Brokers: []string{"a:1", "b:2"}, Options: []kgo.Opt{kgo.ClientID("option")}})
	if got := cl.OptValue(kgo.ClientID); got != "option" {
		t.Errorf("client id %v", got)
	}
	if got := cl.OptValue(kgo.SeedBrokers); !slices.Equal(got.([]string), []string{"a:1", "b:2"}) {
		t.Errorf("brokers %v", got)
	}
}

func TestTheLogIsSilentWhenAllIsWell(t *testing.T) {
	var out bytes.Buffer
	l := logger{slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelInfo}))}
	if l.Level() != kgo.LogLevelWarn {
		t.Errorf("franz-go is asked for level %v", l.Level())
	}
	l.Log(kgo.LogLevelInfo, "beginning to manage the group lifecycle")
	if out.Len() > 0 {
		t.Errorf("it said %s", out.String())
	}
	l.Log(kgo.LogLevelWarn, "unable to open a connection", "addr", "a:1")
	if got := out.String(); !strings.Contains(got, "level=WARN") || !strings.Contains(got, "addr=a:1") {
		t.Errorf("it said %q", got)
	}
	l.to = slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if l.Level() != kgo.LogLevelInfo {
		t.Errorf("at the level of debugging, franz-go is asked for level %v", l.Level())
	}
}
