package files

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/scripts"
	"github.com/skeinstream/skein/interop/internal/admin"
	"github.com/skeinstream/skein/interop/internal/report"
	"github.com/skeinstream/skein/interop/internal/root"
	"github.com/skeinstream/skein/interop/internal/skein"
	"github.com/skeinstream/skein/interop/internal/target"
	"github.com/skeinstream/skein/interop/kafka"
)

// transactionScripts are those of the transaction coordinator's own tests.
const transactionScripts = "internal/txn/testdata"

// unplayable scripts have commands that need the inside of our coordinator, or other settings, or go on over a connection that a
// late request has closed.
var unplayable = regexp.MustCompile(`(?m)^(settings|epoch)\b|\b(off|gone)=|\bfailing\b|A commit v=4\n  13s|^  A: late$`)

// known are answers that differ from Kafka's on purpose (docs/differences.md), by script and command.
var known = map[string]string{
	"e5_open_fenced: B recover epoch=2": "Kafka aborts for whoever knows the id, and takes an epoch that it has not given",
	"e5_open_fenced: B commit":          "Kafka has aborted the transaction for a zombie",
	"h15_race: A commit":                "FR-H15",
}

// TestTransactionScripts: Kafka answers the requests of the coordinator's scripts as the scripts say, but where known says
// otherwise.
func TestTransactionScripts(t *testing.T) {
	broker := target.Kafka(t, kafka.Options{Settings: map[string]string{"transaction.abort.timed.out.transaction.cleanup.interval.ms": "20"}})
	all := &plays{addr: broker.Addr, differs: known, used: map[string]bool{}}
	all.playAll(t)
	for k := range known {
		if !all.used[k] {
			t.Errorf("%q is no difference any more", k)
		}
	}
	report.Note(t, report.Shown, "transaction scripts", "%d scripts with %d answers were played to Kafka; %d requests are answered otherwise on purpose", all.scripts, all.answers, len(known))
}

// TestTransactionScriptsOnSkein: our broker answers as the scripts of its coordinator say, late requests over old connections
// too, and never that somebody should come again.
func TestTransactionScriptsOnSkein(t *testing.T) {
	broker, err := skein.Start(t, skein.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if served, err := admin.Advertises(t.Context(), broker.Addr, kmsg.EndTxn.Int16()); err != nil || !served {
		report.Note(t, report.Lacks, "skein", "no transactions yet: scripts were not played (%v)", err)
		return
	}
	all := &plays{addr: broker.Addr, atOnce: true, used: map[string]bool{}}
	all.playAll(t)
	report.Note(t, report.Shown, "transaction scripts", "%d scripts with %d answers were played to Skein", all.scripts, all.answers)
}

// plays are all scripts.
type plays struct {
	addr    string
	differs map[string]string
	atOnce  bool // CONCURRENT_TRANSACTIONS is an answer, not a reason to come again

	mu               sync.Mutex
	used             map[string]bool // of differs
	scripts, answers int
}

// playAll plays the scripts side by side, each with transactional ids of its own.
func (all *plays) playAll(t *testing.T) {
	source, err := root.Skein()
	if err != nil {
		t.Fatal(err)
	}
	if err := admin.CreateTopics(t.Context(), all.addr, 6, nil, "t", "u", "a", "b"); err != nil {
		t.Fatal(err)
	}
	t.Run("scripts", func(t *testing.T) {
		for _, f := range scripts.Files(t, filepath.Join(source, filepath.FromSlash(transactionScripts))) {
			if !unplayable.MatchString(f.Text) {
				t.Run(f.Name, func(t *testing.T) { t.Parallel(); all.play(t, f.Name, f.Text) })
			}
		}
	})
}

func (all *plays) play(t *testing.T, name, text string) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	p := &play{
		driver: &driver{t: t, addr: all.addr, producers: map[string]*producer{}}, plays: all, name: name,
		conns: map[string]net.Conn{}, ids: map[int64]int64{-1: -1}, used: map[string]bool{},
	}
	defer p.close()
	p.connect(ctx, "0")
	p.find(ctx)
	n := p.script(ctx, text)
	all.mu.Lock()
	defer all.mu.Unlock()
	all.scripts, all.answers = all.scripts+1, all.answers+n
	maps.Copy(all.used, p.used)
}

// play is a script under way.
type play struct {
	*driver
	plays *plays
	name  string
	conns map[string]net.Conn // by the number that the script gives them
	ids   map[int64]int64     // the broker's producer ids by those of the script
	used  map[string]bool     // of plays.differs
}

// connect sends what follows over one of the script's connections, which are made in the order in which they are needed.
func (p *play) connect(ctx context.Context, number string) {
	p.t.Helper()
	if p.conns[number] == nil {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", p.addr)
		if err != nil {
			p.t.Fatal(err)
		}
		p.conns[number] = conn
	}
	p.conn = p.conns[number]
}

func (p *play) close() {
	for _, c := range p.conns {
		c.Close()
	}
}

// script plays every request and compares the answers; it returns how many there were.
func (p *play) script(ctx context.Context, text string) int {
	p.t.Helper()
	began := time.Now()
	var command string
	n := 0
	lines := bufio.NewScanner(strings.NewReader(text))
	for number := 1; lines.Scan(); number++ {
		line := lines.Text()
		words := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "at "):
			p.wait(ctx, began, words[1])
			command = line
		case !strings.HasPrefix(line, "  "):
			command = line
		default:
			want, is := p.answered(command, line)
			if !is {
				continue
			}
			n++
			got, key := p.answer(ctx, command, want), p.name+": "+command
			switch _, differs := p.plays.differs[key]; {
			case got == want:
			case differs:
				p.used[key] = true
			default:
				p.t.Errorf("line %d: %s: the broker says %q, the script %q", number, command, got, want)
			}
		}
	}
	return n
}

// answered is what a line says that the client of a command was answered, after the time if there is one.
func (p *play) answered(command, line string) (string, bool) {
	words := strings.Fields(command)
	if len(words) == 0 {
		return "", false
	}
	_, want, is := strings.Cut(line, " "+words[0]+": ")
	return want, is && len(words) > 1 && words[1] != "is"
}

// wait is until a moment of the script has come, and Kafka has had time for what is due then.
func (p *play) wait(ctx context.Context, began time.Time, moment string) {
	d, err := time.ParseDuration(moment)
	if err != nil {
		p.t.Fatal(err)
	}
	select {
	case <-ctx.Done():
	case <-time.After(time.Until(began.Add(d + 500*time.Millisecond))):
	}
}

var told = regexp.MustCompile(`producer (\d+)/(\d+)`)

// answer sends a command's request and says what the broker answers in the words of the scripts.
func (p *play) answer(ctx context.Context, command, want string) string {
	p.t.Helper()
	c := p.parse(command)
	if c.Given("conn") {
		p.connect(ctx, c.Text("conn", ""))
	}
	code, got := p.request(ctx, c)
	for wait := 0; (starting(code) || !p.plays.atOnce && code == kerr.ConcurrentTransactions.Code) && want != "CONCURRENT_TRANSACTIONS" && wait < 200; wait++ {
		soon(ctx)
		code, got = p.request(ctx, c)
	}
	if code != 0 {
		name := kerr.TypedErrorForCode(code).Message
		if c.has("implicit") && code == kerr.ProducerFenced.Code {
			name = kerr.InvalidProducerEpoch.Message // what Produce and TxnOffsetCommit make of it
		}
		return name
	}
	if ours := told.FindStringSubmatch(want); ours != nil && got.id >= 0 {
		id, _ := strconv.ParseInt(ours[1], 10, 64)
		if _, seen := p.ids[id]; !seen {
			p.ids[id] = got.id
		}
	}
	return p.words(c, got, want)
}

// words says an answer without an error.
func (p *play) words(c *played, got producer, want string) string {
	switch {
	case c.verb == "verify":
		return strings.TrimSpace(strings.Join(c.codes, " "))
	case c.verb == "add":
		return "ok"
	case got.id < 0: // EndTxn before version 5 tells nothing
		return "ok," + strings.TrimPrefix(want, "ok,")
	}
	if !c.has("quietly") {
		*c.who = got
	}
	for ours, theirs := range p.ids {
		if theirs == got.id {
			got.id = ours
			break
		}
	}
	text := fmt.Sprintf("producer %d/%d", got.id, got.epoch)
	if c.verb == "commit" || c.verb == "abort" {
		text = "ok, " + text
	}
	return text
}
