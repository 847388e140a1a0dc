package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTopicSlipsAreCaught(t *testing.T) {
	c := startCluster(t)
	c.do("topic", "create", "orders.new")
	for _, s := range []struct{ args, what, do string }{
		{"topic alter orders.new --unset retntion.ms", `no setting "retntion.ms"`, "did you mean retention.ms"},
		{"topic alter orders.new --unset xyzzy --dry-run", `no setting "xyzzy"`, "skein settings --topic"},
		{"topic alter ordes.new --unset segment.ms", `no topic "ordes.new"`, `"orders.new"`},
		{"topic create x --set log.retention.hours=1", "cannot create topic x", "log.retention.hours is a setting of brokers: that of a topic is retention.ms"},
		{"topic create orders_new", "cannot create topic orders_new", "alike"},
	} {
		c.want(c.fail(1, "", strings.Fields(s.args)...), s.what, s.do)
	}
	c.want(c.do("topic", "alter", "orders.new", "--unset", "retention.ms"), "retention.ms is back")
}

func TestAPatternThatMatchesNothingSaysSo(t *testing.T) {
	c := startCluster(t)
	s := c.shell("")
	s.run(t.Context(), "topic", "list")
	c.want(s.stderr.String(), "there are no topics")
	c.do("topic", "create", "orders")
	s = c.shell("")
	if code := s.run(t.Context(), "topic", "list", "zz*"); code != 0 {
		t.Errorf("exit %d", code)
	}
	c.want(s.stderr.String(), `no topic matches "zz*"`)
}

// offlineTopic serves a directory in which one of two topics has lost bytes
// that were durable.
func offlineTopic(t *testing.T) served {
	t.Helper()
	dir := t.TempDir()
	s := serveIn(t, dir)
	c := s.cluster(t)
	c.do("topic", "create", "good", "bad")
	c.do("topic", "alter", "bad", "--partitions", "2")
	c.feed("first\n", "produce", "bad", "--partition", "0")
	c.feed("other\n", "produce", "bad", "--partition", "1")
	s.stop()
	if err := os.Truncate(filepath.Join(dir, "bad-0", "00000000000000000000.log"), 10); err != nil {
		t.Fatal(err)
	}
	return serveIn(t, dir)
}

func TestAnOfflinePartitionIsShownAsOne(t *testing.T) {
	s := offlineTopic(t)
	c := s.cluster(t)
	for _, topics := range [][]string{{"bad"}, {"good", "bad"}} {
		c.want(c.do(append([]string{"topic", "describe"}, topics...)...), "none", "LEADER_NOT_AVAILABLE")
	}
	s.stop()
}
