package peers

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/skeinstream/skein/interop/proc"
)

// KfakeVerb is the first argument that makes this program a kfake broker.
const KfakeVerb = "kfake"

// kfake starts this program once more, as a broker. Without data it keeps
// everything in memory; with data it syncs every write to files there.
func (l Launcher) kfake(dir, data string) (*Broker, error) {
	addr, err := loopback()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	p, err := proc.Start(exec.Command(l.Self, KfakeVerb, "-listen", addr, "-data", data), logName(dir))
	if err != nil {
		return nil, err
	}
	return launched(addr, began, p), nil
}

// RunKfake is the kfake broker until ctx ends; args are what follows KfakeVerb.
func RunKfake(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet(KfakeVerb, flag.ContinueOnError)
	addr := flags.String("listen", "127.0.0.1:9092", "address to listen on")
	data := flags.String("data", "", "directory for synced writes; empty: memory")
	if err := flags.Parse(args); err != nil {
		return err
	}
	_, text, err := net.SplitHostPort(*addr)
	if err != nil {
		return fmt.Errorf("reading the address: %w", err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return fmt.Errorf("reading the port: %w", err)
	}
	options := []kfake.Opt{kfake.NumBrokers(1), kfake.Ports(port)}
	if *data != "" {
		options = append(options, kfake.DataDir(*data), kfake.SyncWrites())
	}
	cluster, err := kfake.NewCluster(options...)
	if err != nil {
		return fmt.Errorf("starting kfake: %w", err)
	}
	defer cluster.Close()
	<-ctx.Done()
	return nil
}
