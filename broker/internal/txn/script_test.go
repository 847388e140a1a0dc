package txn

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

var rewrite = flag.Bool("rewrite", false, "write what happens into testdata/*.txt instead of comparing")

// The files of testdata are commands, each followed by what it makes happen, indented: answers and asks, when they were
// given, then the markers, then the transactional ids that are not what they were. A line that begins with # is for the
// reader. The commands:
//
//	settings NAME=VALUE…          version2=off late=off expiration=2h check=1h max=15m; restarts
//	at 3s                         lets time pass until then, counted from the start
//	A init [timeout=1m]           InitProducerId without an id and epoch
//	A recover [timeout=1m]        with the ones that A has (KIP-360)
//	A add t-0… | verify t-0…      as a request; "implicit" as Produce v12 does, "offsets" as AddOffsetsToTxn
//	A commit | A abort            EndTxn
//	A is B | A is 7/3             A takes what B knows, or is told
//	finish                        answers the asks; early: though their time has not come
//	epoch 32766                   what is stored of tx gets another epoch, and the machine is loaded again
//	describe | list | count | reach | unended | notes | records | restart
//
// All have id=tx. Of requests also v=, conn=, pid= and epoch= may be told, and off=t-0,… gone=t-0,… what the caller has
// found unreachable or gone. A client goes on with what it was told last; "quietly" it does not hear the answer. "failing":
// what is decided cannot be made durable, so the loop drops the machine and reads the log again.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) { runScript(t, name) })
	}
}

func runScript(t *testing.T, name string) {
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	s := &script{stage: newStage(t, testSettings())}
	var got strings.Builder
	lines := bufio.NewScanner(strings.NewReader(string(text)))
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		if strings.HasPrefix(line, "  ") {
			continue
		}
		fmt.Fprintln(&got, line)
		if line != "" && !strings.HasPrefix(line, "#") {
			s.line = fmt.Sprintf("%s:%d", name, n)
			for _, l := range s.run(strings.Fields(line)) {
				fmt.Fprintln(&got, "  "+l)
			}
		}
	}
	switch {
	case *rewrite:
		if err := os.WriteFile(name, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	case got.String() != string(text):
		t.Errorf("%s: what happens is\n%s\nif that is right, run with -rewrite", name, got.String())
	}
}

type script struct {
	*stage
	line string
}

func (s *script) run(words []string) []string {
	before := s.m.durable()
	s.said, s.markers = nil, nil
	if words[0] != "records" && words[0] != "notes" {
		s.fresh, s.notes = nil, nil
	}
	o := parseOptions(words[1:])
	switch words[0] {
	case "settings":
		s.set(o)
	case "at":
		s.advance(s.start.Add(s.duration(words[1])))
	case "restart":
		s.restart()
	case "finish":
		s.finish(o)
	case "epoch":
		s.rewind(o.take("id", "tx"), int16(s.number(words[1])))
	case "records", "notes":
		s.show(words[0])
	case "describe", "list", "count", "reach", "unended":
		s.ask(words[0], o)
	default:
		s.act(s.client(words[0]), words[1], parseOptions(words[2:]))
	}
	for _, w := range s.markers {
		s.said = append(s.said, sayMarker(w))
	}
	return append(s.said, s.stateLines(before)...)
}

func (s *script) set(o options) {
	s.settings.Version2 = o.take("version2", "on") == "on"
	s.settings.RefuseLate = o.take("late", "on") == "on"
	s.settings.Expiration = s.duration(o.take("expiration", "168h"))
	s.settings.ExpiryCheck = s.duration(o.take("check", "1h"))
	s.settings.MaxTimeout = s.duration(o.take("max", "15m"))
	s.restart()
}

func (s *script) duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		s.t.Fatalf("%s: %v", s.line, err)
	}
	return d
}

func (s *script) number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		s.t.Fatalf("%s: %v", s.line, err)
	}
	return n
}

// options are the words of a command: those with = by name, others in order.
type options struct {
	words []string
	named map[string]string
}

func parseOptions(words []string) options {
	o := options{named: map[string]string{}}
	for _, w := range words {
		if name, value, ok := strings.Cut(w, "="); ok {
			o.named[name] = value
		} else {
			o.words = append(o.words, w)
		}
	}
	return o
}

// take returns an option; "-" is the empty string.
func (o options) take(name, otherwise string) string {
	v, given := o.named[name]
	switch {
	case !given:
		return otherwise
	case v == "-":
		return ""
	}
	return v
}

func (o *options) flag(name string) bool {
	i := slices.Index(o.words, name)
	if i < 0 {
		return false
	}
	o.words = slices.Delete(o.words, i, i+1)
	return true
}

func (s *script) act(who *client, verb string, o options) {
	quiet := o.flag("quietly")
	s.failing = o.flag("failing")
	switch verb {
	case "init", "recover":
		s.init(who, verb == "recover", quiet, o)
	case "add", "verify":
		s.say("%s: %s", who.name, sayAdded(s.step(s.add(who, verb == "verify", o)).(Added)))
	case "commit", "abort":
		s.end(who, verb == "commit", quiet, o)
	case "is":
		s.become(who, o.words[0])
	default:
		s.t.Fatalf("%s: nobody can %s", s.line, verb)
	}
}

func (s *script) become(who *client, what string) {
	if id, epoch, told := strings.Cut(what, "/"); told {
		who.identity = identity{s.number(id), int16(s.number(epoch))}
	} else {
		who.identity = s.client(what).identity
	}
}

func (s *script) caller(o options, version string) Caller {
	return Caller{Connection: uint64(s.number(o.take("conn", "0"))), Version: int16(s.number(o.take("v", version)))}
}

func (s *script) ends(o options) Ends {
	s.gone = s.partitions(strings.Split(o.take("gone", ""), ","))
	return Ends{NewProducerID: noProducerID, Unreachable: s.partitions(strings.Split(o.take("off", ""), ",")), Gone: s.gone}
}

func (s *script) partitions(words []string) []Partition {
	var all []Partition
	for _, w := range words {
		if i := strings.LastIndexByte(w, '-'); i > 0 {
			all = append(all, Partition{w[:i], int32(s.number(w[i+1:]))})
		}
	}
	return all
}

func (s *script) identity(who *client, o options) identity {
	return identity{s.number(o.take("pid", fmt.Sprint(who.ProducerID))), int16(s.number(o.take("epoch", fmt.Sprint(who.Epoch))))}
}

func (s *script) init(who *client, recovers, quiet bool, o options) {
	r := kmsg.NewPtrInitProducerIDRequest()
	in := Init{Caller: s.caller(o, "5"), Ends: s.ends(o), Request: r}
	id, p := o.take("id", "tx"), identity{noProducerID, noEpoch}
	if recovers {
		p = s.identity(who, o)
	}
	r.Version, r.TransactionalID, r.ProducerID, r.ProducerEpoch = in.Version, &id, p.ProducerID, p.Epoch
	r.TransactionTimeoutMillis = int32(s.duration(o.take("timeout", "1m")).Milliseconds())
	answer := s.step(in).(*kmsg.InitProducerIDResponse)
	told := identity{answer.ProducerID, answer.ProducerEpoch}
	if answer.ErrorCode != 0 {
		s.say("%s: %s", who.name, codeName(answer.ErrorCode))
		return
	}
	s.say("%s: producer %v", who.name, told)
	if !quiet {
		who.identity = told
	}
}

func (s *script) add(who *client, verify bool, o options) Add {
	p := s.identity(who, o)
	in := Add{
		TransactionalID: o.take("id", "tx"), ProducerID: p.ProducerID, Epoch: p.Epoch,
		VerifyOnly: verify, Implicit: o.flag("implicit"), Offsets: o.flag("offsets"),
	}
	in.Caller = s.caller(o, "3")
	in.Partitions = s.partitions(o.words)
	return in
}

func sayAdded(a Added) string {
	if a.Codes == nil {
		return codeName(a.Code)
	}
	var all []string
	for _, code := range a.Codes {
		all = append(all, codeName(code))
	}
	return strings.Join(all, " ")
}

func (s *script) end(who *client, commit, quiet bool, o options) {
	p := s.identity(who, o)
	answer := s.step(End{
		Caller: s.caller(o, "5"), Ends: s.ends(o), TransactionalID: o.take("id", "tx"), ProducerID: p.ProducerID, Epoch: p.Epoch, Commit: commit,
	}).(Ended)
	if answer.Code != 0 {
		s.say("%s: %s", who.name, codeName(answer.Code))
		return
	}
	told := identity{answer.ProducerID, answer.Epoch}
	s.say("%s: ok, producer %v", who.name, told)
	if !quiet {
		who.identity = told
	}
}

// finish answers every ask once, in the order of the ids.
func (s *script) finish(o options) {
	asks := slices.Clone(s.asks)
	slices.SortStableFunc(asks, compareAsks)
	for _, a := range asks {
		s.asks = slices.DeleteFunc(s.asks, func(b Ask) bool { return compareAsks(a, b) == 0 })
		s.step(Finish{TransactionalID: a.TransactionalID, ProducerID: a.ProducerID, Epoch: a.Epoch, Ends: s.ends(o)})
	}
}

func (s *script) ask(what string, o options) {
	switch what {
	case "describe":
		s.say("%s", sayDescribed(s.step(Describe{TransactionalID: o.take("id", "tx")}).(*kmsg.DescribeTransactionsResponseTransactionState)))
	case "list":
		for _, l := range s.step(List{}).([]Listed) {
			s.say("%s %d %s since %v", l.TransactionalID, l.ProducerID, l.TransactionState, l.Started.UTC().Format("15:04:05"))
		}
	case "reach":
		s.sayReached(s.step(Reach{TransactionalID: o.take("id", "tx")}).(Reached))
	case "unended":
		for _, r := range s.step(Unended{}).([]Reached) {
			s.sayReached(r)
		}
	case "count":
		c := s.step(Count{}).(Counts)
		s.say("%v committed %d aborted %d timed out %d fenced %d late %d expired %d oldest %q", c.States,
			c.Committed, c.Aborted, c.TimedOut, c.Fenced, c.Late, c.Expired, c.OldestID)
	}
}

func (s *script) sayReached(r Reached) {
	s.say("%v reaches %s", identity{r.ProducerID, r.Epoch}, sayPartitions(r.Partitions))
}

func (s *script) show(what string) {
	switch what {
	case "notes":
		for _, n := range s.notes {
			line := n.Level.String() + " " + n.Message
			for _, a := range n.Attrs {
				line += " " + a.String()
			}
			s.said = append(s.said, line)
		}
	case "records":
		for _, r := range s.fresh {
			s.said = append(s.said, sayRecord(&s.m.coder, r))
		}
	}
}
