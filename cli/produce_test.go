package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestEachRecordTellsWhereItWent, in a line of its own, at the pace that was asked for.
func TestEachRecordTellsWhereItWent(t *testing.T) {
	c := startCluster(t)
	c.do("topic", "create", "t", "-p", "2")
	if got := c.feed("a\nb\n", "produce", "t", "-p", "1", "--each", "-q"); got != "t 1 0\nt 1 1\n" {
		t.Errorf("%q", got)
	}
	if got := c.feed("a\n", "produce", "t", "-p", "0", "--each", "-q", "--acks", "0"); got != "t 0 -1\n" {
		t.Errorf("%q: nobody tells the offset", got)
	}
	began := time.Now()
	out := c.feed("c\nd\ne\n", "produce", "t", "-p", "1", "--each", "--json", "--rate", "100")
	if took := time.Since(began); took < 20*time.Millisecond {
		t.Errorf("3 records at 100 a second took %v", took)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	var last acknowledged
	decode(t, lines[2], &last)
	if last.Event != "acknowledged" || last.Line != 3 || last.Topic != "t" || last.Partition != 1 || last.Offset != 4 || last.Timestamp == 0 {
		t.Errorf("%+v", last)
	}
	var sum summaryLine
	decode(t, lines[3], &sum)
	if len(lines) != 4 || sum.Event != "summary" || sum.Records != 3 {
		t.Errorf("%q", lines)
	}
	c.want(c.fail(2, "", "produce", "t", "--rate", "-1"), "negative")
}

func TestTheFailedLineIsNamedAndTheRestCounted(t *testing.T) {
	c := startCluster(t)
	c.do("topic", "create", "t")
	file := filepath.Join(t.TempDir(), "lines")
	if err := os.WriteFile(file, []byte("ok\nfine\n"+strings.Repeat("x", 2000)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.want(c.fail(1, "first\n", "produce", "t", "-", file, "--max-message-bytes", "1000"),
		file+", line 3", "MESSAGE_TOO_LARGE", "max.message.bytes", "3 records acknowledged in all")
	c.want(c.fail(1, "k:v\nv\n", "produce", "t", "-K", ":"), `line 2: there is no key separator ":" in it`, "--key-separator names another", "1 record acknowledged")
	c.want(c.fail(1, `{"value":"a","partition":4}`, "produce", "t", "-i", "json"), "no partition 4", "--repartition")
	c.want(c.feed(`{"value":"a","partition":4}`, "produce", "t", "-i", "json", "--repartition"), "1 record")
	c.want(c.fail(1, `{"vaule":"a"}`, "produce", "t", "-i", "json"), `line 1: unknown field "vaule"`, "key, value, headers, partition and timestamp")
	c.want(c.fail(1, "\x00\x00\x00\x01x\x00\x00", "produce", "t", "-i", "framed-values"), "record 2: the length", "1 record acknowledged")
	c.want(c.fail(2, "x\n", "produce", "t", "-p", "4"), "topic t has no partition 4", "1 partition, counted from 0")
	c.want(c.fail(1, "x\n", "produce", "nowhere"), `no topic "nowhere"`, "skein topic create nowhere")
	c.want(c.feed("x\n", "produce", "made", "--auto-create"), "1 record")
	if got := c.do("consume", "t", "-e"); got != "first\nok\nfine\nv\na\nx\n" {
		t.Errorf("got %q", got)
	}
}

func TestASummaryIsMadeForPrograms(t *testing.T) {
	c := startCluster(t)
	c.do("topic", "create", "t")
	var done produceSummary
	decode(t, c.feed("a\nb\n", "produce", "t", "--json"), &done)
	if done.Records != 2 || done.Bytes != 2 || done.Topic != "t" || done.Failed != nil {
		t.Errorf("got %+v", done)
	}
	s := c.shell("k:v\nv\n")
	s.run(t.Context(), "produce", "t", "-K", ":", "--json")
	decode(t, s.stdout.String(), &done)
	if done.Records != 1 || done.Failed == nil || done.Failed.Line != 2 {
		t.Errorf("got %+v", done)
	}
	if err := json.Unmarshal([]byte(s.stderr.String()), &struct{}{}); err != nil {
		t.Errorf("%v: %s", err, s.stderr.String())
	}
}

// tap is an output that tells when a text has come.
type tap struct {
	output
	text string
	seen chan struct{}
}

func newTap(text string) *tap { return &tap{text: text, seen: make(chan struct{})} }

func (t *tap) Write(p []byte) (int, error) {
	n, err := t.output.Write(p)
	if t.text != "" && strings.Contains(t.output.String(), t.text) {
		t.text = ""
		close(t.seen)
	}
	return n, err
}

// background runs a command line until stop, and returns its exit code.
func (c cluster) background(stdin io.Reader, out io.Writer, args ...string) (stop func() int) {
	ctx, cancel := context.WithCancel(c.t.Context())
	code := make(chan int)
	go func() {
		code <- Run(ctx, Env{
			Stdin: stdin, Stdout: out, Stderr: io.Discard, Now: time.Now, Environ: os.Environ,
			Getenv: func(name string) string { return c.shell("").env[name] },
		}, args)
	}()
	return func() int { cancel(); return <-code }
}

func TestConsumeFollowsUntilInterrupted(t *testing.T) {
	c := startCluster(t)
	c.do("topic", "create", "t")
	c.feed("old\n", "produce", "t")
	out := newTap("old\n")
	stop := c.background(nil, out, "consume", "t")
	<-out.seen
	more := newTap("new\n")
	stopToo := c.background(nil, more, "consume", "t")
	c.feed("new\n", "produce", "t")
	<-more.seen
	if code := stopToo(); code != 130 {
		t.Errorf("exit %d", code)
	}
	if code := stop(); code != 130 {
		t.Errorf("exit %d", code)
	}
}

func TestAnInterruptedProduceKeepsWhatItRead(t *testing.T) {
	c := startCluster(t)
	c.do("topic", "create", "t")
	in, feed := io.Pipe()
	stop := c.background(in, io.Discard, "produce", "t")
	out := newTap("typed\n")
	stopConsume := c.background(nil, out, "consume", "t")
	fmt.Fprintln(feed, "typed")
	<-out.seen
	if code := stop(); code != 130 {
		t.Errorf("exit %d", code)
	}
	feed.Close() // lets the reading goroutine end, as the end of the process would
	stopConsume()
	if got := c.do("consume", "t", "-e"); got != "typed\n" {
		t.Errorf("got %q", got)
	}
}

func TestProgressIsShownWhenAskedFor(t *testing.T) {
	p := &progress{w: newTap("records acknowledged"), now: time.Now, started: time.Now(), verb: "acknowledged", quit: make(chan struct{})}
	p.add(2, 10)
	p.stop.Go(p.run)
	<-p.w.(*tap).seen
	p.end()
	if got := p.w.(*tap).String(); !strings.HasSuffix(got, "\r\x1b[K") {
		t.Errorf("the line was left behind: %q", got)
	}
}
