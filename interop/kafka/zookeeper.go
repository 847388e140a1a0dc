package kafka

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/skeinstream/skein/interop/proc"
)

// needsKeeper says that a release stands on ZooKeeper.
func needsKeeper(version string) bool { return version < "3" }

// keep starts the ZooKeeper of an old release, and waits until it serves.
func (b *Broker) keep(ctx context.Context, o Options, settings map[string]string) error {
	port, err := proc.FreePort()
	if err != nil {
		return err
	}
	addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	config := filepath.Join(o.Dir, "zookeeper.cfg")
	text := fmt.Sprintf("dataDir=%s\nclientPort=%d\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\ntickTime=2000\n", filepath.Join(o.Dir, "zookeeper"), port)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		return err
	}
	flags := append(slices.Clone(o.JVM), "-Dzookeeper.jmx.log4j.disable=true") // which some releases do not bring
	cmd := b.Tools.java(context.Background(), flags, "org.apache.zookeeper.server.quorum.QuorumPeerMain", config)
	if b.keeper, err = proc.Start(cmd, filepath.Join(o.Dir, "zookeeper.log")); err != nil {
		return err
	}
	settings["zookeeper.connect"] = addr
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	if _, err := b.keeper.Await(ctx, "binding to port"); err != nil {
		b.endKeeper()
		return fmt.Errorf("starting ZooKeeper: %w", err)
	}
	return nil
}

// endKeeper ends what Kafka has needed, after it.
func (b *Broker) endKeeper() {
	if b.keeper != nil {
		b.keeper.Kill()
	}
}

// old turns the settings of a broker that is its own controller into those of one that has a ZooKeeper.
func old(settings map[string]string, addr string) {
	for _, name := range []string{"process.roles", "node.id", "controller.quorum.voters", "controller.listener.names", "listener.security.protocol.map"} {
		delete(settings, name)
	}
	settings["broker.id"] = "1"
	settings["listeners"] = "PLAINTEXT://" + addr
}
