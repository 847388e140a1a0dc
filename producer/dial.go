package producer

import (
	"context"
	"net"
	"time"

	"github.com/skeinstream/skein/client"
)

// refusalPause is what a connection takes that cannot be opened. franz-go sends a transaction's AddPartitionsToTxn again without a pause as long
// as connections are refused: it would do nothing else until the broker is back.
const refusalPause = 50 * time.Millisecond

// cluster is Config.Cluster, where a connection that is refused is so after a moment.
func (c Config) cluster() client.Config {
	cluster := c.Cluster
	dial := cluster.Dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	cluster.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			_ = pause(ctx, refusalPause)
		}
		return conn, err
	}
	return cluster
}
