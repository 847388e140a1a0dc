package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDamageInALogIsToldToWhoReadsIt(t *testing.T) {
	dir, _ := damagedData(t)
	s := serveIn(t, dir)
	c := s.cluster(t)
	c.want(c.fail(1, "", "consume", "bad", "-e"), "first\n", "cannot read topic bad partition 0 at offset 1", "does not match", "skein log repair", "--from")
	s.stop()
}

func TestAnOfflinePartitionCannotBeConsumed(t *testing.T) {
	s := offlineTopic(t)
	c := s.cluster(t)
	c.want(c.fail(1, "", "consume", "bad", "-e"), "topic bad partition 0 has no leader", "log", "--partition 1 reads the others")
	if got := c.do("consume", "bad", "-e", "--partition", "1"); got != "other\n" {
		t.Errorf("got %q", got)
	}
	c.want(c.fail(1, "x\n", "produce", "bad", "-p", "0", "--delivery-timeout", "500ms"), "bad has no leader for partition 0", "no acknowledgement")
	c.want(c.fail(1, "", "consume", "good", "bad", "-e"), "topic bad partition 0 has no leader")
	s.stop()
}

// A segment in the middle of a log is not read at the start, so that the
// partition is served; who reads it gets an error that clients try again.
func TestConsumeDoesNotWaitForEverForWhatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	s := serveIn(t, dir, "--log-segment-bytes", "1048576")
	c := s.cluster(t)
	c.do("topic", "create", "t")
	line := strings.Repeat("x", 600_000) + "\n"
	for range 3 {
		c.feed(line, "produce", "t")
	}
	s.stop()
	if err := os.Truncate(filepath.Join(dir, "t-0", "00000000000000000000.log"), 300_000); err != nil {
		t.Fatal(err)
	}
	s = serveIn(t, dir)
	c = s.cluster(t)
	c.want(c.fail(1, "", "consume", "t", "-e", "--timeout", "2s"), "cannot read topic t partition 0 at offset 0", "CORRUPT_MESSAGE")
	s.stop()
}
