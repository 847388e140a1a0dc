package txn

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/scripts"
)

var rewrite = flag.Bool("rewrite", false, "write what happens into the files of testdata instead of comparing")

// The files of testdata are commands, each followed by what it makes happen, indented: answers and asks, when they were
// given, then the markers, then the transactional ids that are not what they were. A line that begins with # is for the
// reader. The commands:
//
//	settings NAME=VALUE…          version2=off late=off expiration=2h check=1h max=15m; restarts
//	at 3s                         lets time pass until then, counted from the start
//	A init [timeout=1m]           InitProducerId without an id and epoch
//	A recover [timeout=1m]        with the ones that A has (KIP-360)
//	A add t-0… | verify t-0…      as a request; "offsets" as AddOffsetsToTxn; "implicit" as Produce does, both as TxnOffsetCommit
//	A commit | A abort            EndTxn
//	A found t-0…                  partitions have a transaction of A open
//	A is B | A is 7/3             A takes what B knows, or is told
//	finish                        answers the asks; early: though their time has not come
//	epoch 32766                   what is stored of tx gets another epoch, and the machine is loaded again
//	describe | list | count | reach | unended | notes | records | restart
//
// All have id=tx. Of requests also v=, conn=, pid= and epoch= may be told, and off=t-0,… gone=t-0,… what the caller has
// found unreachable or gone. A client goes on with what it was told last; "quietly" it does not hear the answer. "failing":
// what is decided cannot be made durable, so the loop drops the machine and reads the log again.
func TestScripts(t *testing.T) {
	scripts.Play(t, "testdata", *rewrite, func(t *testing.T) scripts.Player {
		s := &script{stage: newStage(t, testSettings())}
		return s.run
	})
}

type script struct {
	*stage
	line int
}

// Helper and Fatalf say in which line it was.
func (s *script) Helper() { s.t.Helper() }

func (s *script) Fatalf(format string, args ...any) {
	s.t.Helper()
	s.t.Fatalf("line %d: %s", s.line, fmt.Sprintf(format, args...))
}

func (s *script) run(line int, words []string) []string {
	before := s.m.durable()
	s.line, s.said, s.markers = line, nil, nil
	if words[0] != "records" && words[0] != "notes" {
		s.fresh, s.notes = nil, nil
	}
	o := scripts.Parse(s, words[1:])
	switch words[0] {
	case "settings":
		s.set(o)
	case "at":
		s.advance(s.start.Add(scripts.Duration(s, words[1])))
	case "restart":
		s.restart()
	case "finish":
		s.finish(o)
	case "epoch":
		s.rewind(o.Text("id", "tx"), int16(scripts.Number(s, words[1])))
	case "records", "notes":
		s.show(words[0])
	case "describe", "list", "count", "reach", "unended":
		s.ask(words[0], o)
	default:
		s.act(s.client(words[0]), words[1], scripts.Parse(s, words[2:]))
	}
	for _, w := range s.markers {
		s.said = append(s.said, sayMarker(w))
	}
	return append(s.said, s.stateLines(before)...)
}

func (s *script) set(o scripts.Options) {
	s.settings.Version2 = o.Text("version2", "on") == "on"
	s.settings.RefuseLate = o.Text("late", "on") == "on"
	s.settings.Expiration = scripts.Duration(s, o.Text("expiration", "168h"))
	s.settings.ExpiryCheck = scripts.Duration(s, o.Text("check", "1h"))
	s.settings.MaxTimeout = scripts.Duration(s, o.Text("max", "15m"))
	s.restart()
}

func (s *script) act(who *client, verb string, o scripts.Options) {
	quiet := o.Flag("quietly")
	s.failing = o.Flag("failing")
	switch verb {
	case "init", "recover":
		s.init(who, verb == "recover", quiet, o)
	case "add", "verify":
		s.say("%s: %s", who.name, sayAdded(s.step(s.add(who, verb == "verify", o)).(Added)))
	case "commit", "abort":
		s.end(who, verb == "commit", quiet, o)
	case "found":
		s.find(s.identity(who, o), o)
	case "is":
		s.become(who, append(o.Words, o.Places...)[0])
	default:
		s.Fatalf("nobody can %s", verb)
	}
}

// find tells the machine that partitions have a transaction of somebody open.
func (s *script) find(p identity, o scripts.Options) {
	var in Found
	for _, at := range s.partitions(o.Words) {
		in.Open = append(in.Open, Opened{p.ProducerID, p.Epoch, at})
	}
	s.step(in)
}

func (s *script) become(who *client, what string) {
	if id, epoch, told := strings.Cut(what, "/"); told {
		who.identity = identity{scripts.Number(s, id), int16(scripts.Number(s, epoch))}
	} else {
		who.identity = s.client(what).identity
	}
}

func (s *script) caller(o scripts.Options, version int64) Caller {
	return Caller{Connection: uint64(o.Number("conn", 0)), Version: int16(o.Number("v", version))}
}

func (s *script) ends(o scripts.Options) Ends {
	s.gone = s.partitions(strings.Split(o.Text("gone", ""), ","))
	return Ends{NewProducerID: noProducerID, Unreachable: s.partitions(strings.Split(o.Text("off", ""), ",")), Gone: s.gone}
}

func (s *script) partitions(words []string) []Partition {
	var all []Partition
	for _, w := range words {
		if i := strings.LastIndexByte(w, '-'); i > 0 {
			all = append(all, Partition{w[:i], int32(scripts.Number(s, w[i+1:]))})
		}
	}
	return all
}

func (s *script) identity(who *client, o scripts.Options) identity {
	return identity{o.Number("pid", who.ProducerID), int16(o.Number("epoch", int64(who.Epoch)))}
}

func (s *script) init(who *client, recovers, quiet bool, o scripts.Options) {
	r := kmsg.NewPtrInitProducerIDRequest()
	in := Init{Caller: s.caller(o, 5), Ends: s.ends(o), Request: r}
	id, p := o.Text("id", "tx"), identity{noProducerID, noEpoch}
	if recovers {
		p = s.identity(who, o)
	}
	r.Version, r.TransactionalID, r.ProducerID, r.ProducerEpoch = in.Version, &id, p.ProducerID, p.Epoch
	r.TransactionTimeoutMillis = o.Milliseconds("timeout", "1m")
	answer := s.step(in).(*kmsg.InitProducerIDResponse)
	told := identity{answer.ProducerID, answer.ProducerEpoch}
	if answer.ErrorCode != 0 {
		s.say("%s: %s", who.name, scripts.Code(answer.ErrorCode))
		return
	}
	s.say("%s: producer %v", who.name, told)
	if !quiet {
		who.identity = told
	}
}

func (s *script) add(who *client, verify bool, o scripts.Options) Add {
	p := s.identity(who, o)
	in := Add{
		TransactionalID: o.Text("id", "tx"), ProducerID: p.ProducerID, Epoch: p.Epoch,
		VerifyOnly: verify, Implicit: o.Flag("implicit"), Offsets: o.Flag("offsets"),
	}
	in.Caller = s.caller(o, 3)
	in.Partitions = s.partitions(o.Words)
	return in
}

func sayAdded(a Added) string {
	if a.Late {
		return "late"
	}
	if a.Codes == nil {
		return scripts.Code(a.Code)
	}
	var all []string
	for _, code := range a.Codes {
		all = append(all, scripts.Code(code))
	}
	return strings.Join(all, " ")
}

func (s *script) end(who *client, commit, quiet bool, o scripts.Options) {
	p := s.identity(who, o)
	answer := s.step(End{
		Caller: s.caller(o, 5), Ends: s.ends(o), TransactionalID: o.Text("id", "tx"), ProducerID: p.ProducerID, Epoch: p.Epoch, Commit: commit,
	}).(Ended)
	if answer.Late {
		s.say("%s: late", who.name)
		return
	}
	if answer.Code != 0 {
		s.say("%s: %s", who.name, scripts.Code(answer.Code))
		return
	}
	told := identity{answer.ProducerID, answer.Epoch}
	s.say("%s: ok, producer %v", who.name, told)
	if !quiet {
		who.identity = told
	}
}

// finish answers every ask once, in the order of the ids.
func (s *script) finish(o scripts.Options) {
	asks := slices.Clone(s.asks)
	slices.SortStableFunc(asks, compareAsks)
	for _, a := range asks {
		s.asks = slices.DeleteFunc(s.asks, func(b Ask) bool { return compareAsks(a, b) == 0 })
		s.step(Finish{TransactionalID: a.TransactionalID, ProducerID: a.ProducerID, Epoch: a.Epoch, Ends: s.ends(o)})
	}
}

func (s *script) ask(what string, o scripts.Options) {
	switch what {
	case "describe":
		s.say("%s", sayDescribed(s.step(Describe{TransactionalID: o.Text("id", "tx")}).(*kmsg.DescribeTransactionsResponseTransactionState)))
	case "list":
		for _, l := range s.step(List{}).([]Listed) {
			s.say("%s %d %s since %v", l.TransactionalID, l.ProducerID, l.TransactionState, l.Started.UTC().Format("15:04:05"))
		}
	case "reach":
		s.sayReached(s.step(Reach{TransactionalID: o.Text("id", "tx")}).(Reached))
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
