package files

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/skeinstream/skein/interop/internal/admin"
	"github.com/skeinstream/skein/interop/internal/report"
	"github.com/skeinstream/skein/interop/internal/root"
	"github.com/skeinstream/skein/interop/internal/target"
	"github.com/skeinstream/skein/interop/kafka"
)

// transactionScripts are those of the transaction coordinator's own tests.
const transactionScripts = "broker/internal/txn/testdata/*.txt"

// unplayable scripts have commands that need the inside of our coordinator, or other settings.
var unplayable = regexp.MustCompile(`(?m)^(settings|epoch)\b|\b(off|gone)=|\bfailing\b|A commit v=4\n  13s`)

// known are answers that differ from Kafka's on purpose (docs/differences.md), by script and command.
var known = map[string]string{
	"e5_open_fenced: B recover epoch=2": "Kafka aborts for whoever knows the id, and takes an epoch that it has not given",
	"e5_open_fenced: B commit":          "Kafka has aborted the transaction for a zombie",
	"h15_race: A commit":                "FR-H15",

	"h4_late: A commit v=4 conn=1":                           "late requests, FR-H4",
	"h4_late: A add t-0 conn=1":                              "",
	"h4_late: A add offsets v=4 __consumer_offsets-1 conn=1": "",
	"h4_late: A add t-0 conn=4":                              "",
}

// TestTransactionScripts: Kafka answers the requests of the coordinator's scripts as the scripts say, but where known says
// otherwise.
func TestTransactionScripts(t *testing.T) {
	source, err := root.Skein()
	if err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(source, filepath.FromSlash(transactionScripts)))
	if err != nil || len(names) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	broker := target.Kafka(t, kafka.Options{Settings: map[string]string{"transaction.abort.timed.out.transaction.cleanup.interval.ms": "20"}})
	if err := admin.CreateTopics(t.Context(), broker.Addr, 6, nil, "t", "u", "a", "b"); err != nil {
		t.Fatal(err)
	}
	all := &plays{used: map[string]bool{}}
	t.Run("scripts", func(t *testing.T) {
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if !unplayable.Match(text) {
				base := strings.TrimSuffix(filepath.Base(name), ".txt")
				t.Run(base, func(t *testing.T) { t.Parallel(); all.play(t, broker.Addr, base, string(text)) })
			}
		}
	})
	for k := range known {
		if !all.used[k] {
			t.Errorf("%q is no difference any more", k)
		}
	}
	report.Note(t, report.Shown, "transaction scripts", "%d scripts with %d answers were played to Kafka; %d requests are answered otherwise on purpose", all.scripts, all.answers, len(known))
}

// plays are all scripts.
type plays struct {
	mu               sync.Mutex
	used             map[string]bool // of known
	scripts, answers int
}

func (all *plays) play(t *testing.T, addr, name, text string) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	p := &play{driver: &driver{t: t, addr: addr, conn: conn, producers: map[string]*producer{}}, name: name, ids: map[int64]int64{-1: -1}, used: map[string]bool{}}
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
	name string
	ids  map[int64]int64 // Kafka's producer ids by ours
	used map[string]bool // of known
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
			switch _, differs := known[key]; {
			case got == want:
			case differs:
				p.used[key] = true
			default:
				p.t.Errorf("line %d: %s: Kafka says %q, we say %q", number, command, got, want)
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

// answer sends a command's request and says what Kafka answers in the words of the scripts.
func (p *play) answer(ctx context.Context, command, want string) string {
	p.t.Helper()
	c := p.parse(command)
	code, got := p.request(ctx, c)
	for wait := 0; (starting(code) || code == kerr.ConcurrentTransactions.Code) && want != "CONCURRENT_TRANSACTIONS" && wait < 200; wait++ {
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
