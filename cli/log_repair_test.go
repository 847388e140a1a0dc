package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// damagedData is the data directory of a stopped broker with one flipped bit
// in what it has on disk.
func damagedData(t *testing.T) (dir, segment string) {
	t.Helper()
	dir = t.TempDir()
	s := serveIn(t, dir)
	c := s.cluster(t)
	c.do("topic", "create", "good", "bad")
	for _, line := range []string{"first\n", "second\n", "third\n"} {
		c.feed(line, "produce", "bad")
	}
	if code := s.stop(); code != 0 {
		t.Fatalf("exit %d: %s", code, s.err.String())
	}
	segment = filepath.Join(dir, "bad-0", "00000000000000000000.log")
	b, err := os.ReadFile(segment)
	if err != nil {
		t.Fatal(err)
	}
	b[strings.Index(string(b), "second")] ^= 1
	if err := os.WriteFile(segment, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, segment
}

func TestLogRepairIsADryRunUntilItIsApplied(t *testing.T) {
	dir, segment := damagedData(t)
	before, err := os.ReadFile(segment)
	if err != nil {
		t.Fatal(err)
	}
	c := cluster{t: t}
	c.want(c.fail(1, "", "log", "repair", "--data", dir), "bad-0: damaged: records that were on disk cannot be read", "offset 1:", "2 logs examined, 1 sound", "1 log is damaged", "--apply")
	if after, err := os.ReadFile(segment); err != nil || string(after) != string(before) {
		t.Errorf("the dry run changed the log (%v)", err)
	}

	s := serveIn(t, dir)
	running := s.cluster(t)
	running.want(running.fail(1, "", "log", "repair", "--data", dir), "in use by another broker", "stop it")
	s.stop()

	var logs []repairedLog
	decode(t, c.do("log", "repair", "--data", dir, "--apply", "--json"), &logs)
	if len(logs) != 2 || logs[0].State != logRepaired || logs[0].Damage[0].FirstOffset != 1 || logs[1].State != logSound {
		t.Errorf("got %+v", logs)
	}
	c.want(c.do("log", "repair", "--data", dir), "2 logs examined, 2 sound")

	s = serveIn(t, dir)
	if got := s.cluster(t).do("consume", "bad", "-e", "--format", `%o %v\n`); got != "0 first\n2 third\n" {
		t.Errorf("got %q", got)
	}
	s.stop()
}

func TestLogRepairWantsADataDirectory(t *testing.T) {
	c := cluster{t: t}
	c.want(c.fail(1, "", "log", "repair", "--data", filepath.Join(t.TempDir(), "none")), "no data directory", "--data")
}

func TestLogRepairMendsTheCatalog(t *testing.T) {
	dir := t.TempDir()
	s := serveIn(t, dir)
	c := s.cluster(t)
	c.do("topic", "create", "first", "second")
	c.feed("one\n", "produce", "second")
	s.stop()
	file := filepath.Join(dir, "catalog", "catalog.log")
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	b[strings.Index(string(b), `"second"`)+1] ^= 1
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	c = cluster{t: t}
	c.want(c.fail(1, "", "log", "repair", "--data", dir),
		"catalog: damaged: the broker does not start", "catalog.log at byte", "topic second", "known again", "1 log is damaged", "--apply")
	var logs []repairedLog
	decode(t, c.do("log", "repair", "--data", dir, "--apply", "--json"), &logs)
	if len(logs) != 3 || logs[0].State != logRepaired || len(logs[0].Notes) == 0 {
		t.Errorf("got %+v", logs)
	}
	if aside, err := os.ReadFile(file + ".damaged"); err != nil || string(aside) != string(b) {
		t.Errorf("the damaged file was not saved: %v", err)
	}
	c.want(c.do("log", "repair", "--data", dir), "2 logs examined, 2 sound")
	s = serveIn(t, dir)
	if got := s.cluster(t).do("consume", "second", "-e"); got != "one\n" {
		t.Errorf("got %q", got)
	}
	s.stop()
}
