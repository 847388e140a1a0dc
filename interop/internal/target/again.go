package target

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skeinstream/skein/interop/kafka"
	"github.com/skeinstream/skein/interop/proc"
)

func startKafka(t testing.TB, settings map[string]string) Target {
	t.Helper()
	b := Kafka(t, kafka.Options{Settings: settings})
	a := again{b: b, addr: b.Addr, settings: settings, dir: t.TempDir(), buried: t.TempDir()}
	return Target{
		Name: "kafka", Addr: b.Addr, DataDir: b.DataDir, Logs: []string{logIn(filepath.Dir(b.DataDir)), logIn(a.dir)},
		Restart: func() error { return errors.Join(b.Stop(), a.starts(t.Context())) },
		Kill:    func() { b.Kill() },
		Revive:  func() error { return errors.Join(a.buries(t.Context()), a.starts(t.Context())) },
	}
}

func logIn(dir string) string { return filepath.Join(dir, "kafka.log") }

// again starts a Kafka that has ended, on its data and at its address.
type again struct {
	b        *kafka.Broker
	addr     string
	settings map[string]string
	// dir and buried are for what it is started with, and what it says.
	dir, buried string
}

func (a again) starts(ctx context.Context) error {
	control, err := control()
	if err != nil {
		return err
	}
	all := map[string]string{
		"listeners":                fmt.Sprintf("PLAINTEXT://%s,CONTROLLER://%s", a.addr, control),
		"advertised.listeners":     "PLAINTEXT://" + a.addr,
		"controller.quorum.voters": "1@" + control,
	}
	maps.Copy(all, a.settings)
	started, err := kafka.Start(ctx, kafka.Options{Dir: a.dir, DataDir: a.b.DataDir, Settings: all})
	if err == nil {
		*a.b = *started
		a.b.Addr = a.addr
	}
	return err
}

func control() (string, error) {
	port, err := proc.FreePort()
	return fmt.Sprint("127.0.0.1:", port), err
}

// buries has the controller find out that the broker is dead, by itself, before that is started again.
//
// A node that is back before its session is over is the leader of its partitions in the eyes of its controller, which is killed and back with it, and takes
// that for its predecessor. So it ends transactions before it serves anybody, and cannot reach itself to write their markers. When the predecessor's session is over the
// partitions have no leader for a moment, and Kafka takes them for deleted: transactions are over then, as committed or aborted, and have no marker in partitions that hold
// their records or offsets. Kafka 4.4.0 says "Couldn't find leader endpoint for partitions […] these partitions are likely deleted already and hence can be
// skipped", and read_committed stands still there. What was to be committed would be lost in part, and no client can help it.
func (a again) buries(ctx context.Context) error {
	control, err := control()
	if err != nil {
		return err
	}
	all := map[string]string{
		"process.roles": "controller", "listeners": "CONTROLLER://" + control, "advertised.listeners": "CONTROLLER://" + control,
		"controller.quorum.voters": "1@" + control, "broker.session.timeout.ms": "200", "broker.heartbeat.interval.ms": "100",
	}
	dir, err := os.MkdirTemp(a.buried, "")
	if err != nil {
		return err
	}
	alone, err := kafka.Start(ctx, kafka.Options{Dir: dir, DataDir: a.b.DataDir, Settings: all})
	if err != nil {
		return fmt.Errorf("starting a controller alone: %w", err)
	}
	err = hasSaid(ctx, logIn(dir), "Fencing broker 1 ")
	time.Sleep(fencingWritten)
	return errors.Join(err, alone.Stop())
}

// fencingWritten is for what stands in the controller's log after it has said so.
const fencingWritten = time.Second

// hasSaid waits until a process has said something, or for as long as it would have been said in: a broker that was killed before it served is fenced already.
func hasSaid(ctx context.Context, log, what string) error {
	const patience = 20 * time.Second
	for since := time.Now(); time.Since(since) < patience; {
		if said, err := os.ReadFile(log); err != nil || strings.Contains(string(said), what) {
			return err
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
