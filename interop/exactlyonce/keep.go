package exactlyonce

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// envKeep names the environment variable that gives a directory in which all that
// workers say is kept, and of what has failed the broker's data, too.
const envKeep = "SKEIN_INTEROP_KEEP"

func kept(t *testing.T) string {
	t.Helper()
	keep := os.Getenv(envKeep)
	if keep == "" {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp(keep, strings.NewReplacer("/", "-", " ", "-").Replace(t.Name())+"-")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("all that workers say is in %s", dir)
	return dir
}

// failed tells what is there of a life that has failed, before it ends.
func (l *life) failed() {
	l.t.Helper()
	l.holdsUp()
	for _, s := range l.everyone() {
		if s.worker != nil {
			s.worker.tells()
		}
	}
	if os.Getenv(envKeep) == "" || l.broker.DataDir == "" {
		return
	}
	err := copyLogs(l.broker.DataDir, filepath.Join(l.dir, "data"))
	for _, name := range l.broker.Logs {
		err = errors.Join(err, copyFile(name, filepath.Join(l.dir, "broker-"+filepath.Base(filepath.Dir(name))+".log")))
	}
	if err != nil {
		l.t.Logf("keeping the broker's data: %v", err)
	}
}

// holdsUp tells who keeps readers waiting: transactions that are not over, and partitions with records that nothing is decided of.
func (l *life) holdsUp() {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	all, err := l.admin.ListTransactions(ctx, nil, nil)
	for _, one := range all.Sorted() {
		if !isOver(one.State) {
			l.t.Logf("transaction of %s, producer id %d: %s", one.TxnID, one.ProducerID, one.State)
		}
	}
	stable, err2 := l.admin.ListCommittedOffsets(ctx, inputTopic, outputTopic)
	ends, err3 := l.admin.ListEndOffsets(ctx, inputTopic, outputTopic)
	if err := errors.Join(err, err2, err3); err != nil {
		l.t.Logf("asking who keeps readers waiting: %v", err)
	}
	ends.Each(func(end kadm.ListedOffset) {
		if at, ok := stable.Lookup(end.Topic, end.Partition); ok && at.Offset < end.Offset {
			l.t.Logf("%s-%d: read_committed ends at %d, the log at %d", end.Topic, end.Partition, at.Offset, end.Offset)
		}
	})
}

// tells has the process say what it is doing, if it can, and ends it.
func (w *worker) tells() {
	_ = w.thaw()
	_ = w.cmd.Process.Signal(syscall.SIGQUIT)
	select {
	case <-w.over:
	case <-time.After(2 * time.Second):
		w.kill()
	}
}

// copyLogs copies the logs of partitions, without what can be made of them.
func copyLogs(from, to string) error {
	return filepath.WalkDir(from, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasSuffix(name, "index") {
			return err
		}
		inside, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		return copyFile(name, filepath.Join(to, inside))
	})
}

func copyFile(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	content, err := os.ReadFile(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it was there when the directory was read
	}
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o644)
}
