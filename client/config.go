package client

import (
	"cmp"
	"crypto/tls"
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
)

// DefaultBroker is where a cluster is looked for when no broker is named.
const DefaultBroker = "127.0.0.1:9092"

// Config is how a cluster is reached. Its zero value reaches a broker on this machine, in clear text.
type Config struct {
	// Brokers are host:port addresses of some brokers of the cluster, from which the others are learned; none is DefaultBroker.
	Brokers []string
	// ClientID is client.id, which brokers log and account by; "" is "skein".
	ClientID string
	// TLS has connections encrypted; nil is clear text. An empty ServerName is the host that is connected to.
	TLS *tls.Config
	// SASL proves who the client is; nil is nobody.
	SASL sasl.Mechanism
	// Dial opens connections in the place of the network: to a broker in the process, or by a proxy. TLS is put on top.
	Dial DialFunc
	// DialTimeout is how long a connection may take to open, with its TLS handshake; 0 is 10 s.
	DialTimeout time.Duration
	// Logger hears what goes wrong on the wire; nil discards.
	Logger *slog.Logger
	// Options are settings of franz-go that have no field here. They come last and win.
	Options []kgo.Opt
}

// KgoOptions is what the configuration means to franz-go.
func (c Config) KgoOptions() []kgo.Opt {
	brokers := c.Brokers
	if len(brokers) == 0 {
		brokers = []string{DefaultBroker}
	}
	opts := []kgo.Opt{
		kgo.SeedBrokers(brokers...),
		kgo.ClientID(cmp.Or(c.ClientID, "skein")),
		kgo.SoftwareNameAndVersion(softwareName, softwareVersion),
		kgo.Dialer(c.Dialer()),
		kgo.DisableClientMetrics(),
	}
	if c.SASL != nil {
		opts = append(opts, kgo.SASL(c.SASL))
	}
	if c.Logger != nil {
		opts = append(opts, kgo.WithLogger(logger{c.Logger}))
	}
	return append(opts, c.Options...)
}

func (c Config) dialTimeout() time.Duration { return cmp.Or(c.DialTimeout, 10*time.Second) }
