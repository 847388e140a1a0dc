package txn

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"github.com/skeinstream/skein/internal/scripts"
)

// Clients of three transactional ids do what clients do, and things that they should not, in any order, while time passes,
// partitions come and go, answers are lost and the broker restarts. stage.check says after each step what must hold of the
// machine, crowd what must hold of the answers. At the end everybody is left alone: then nothing may be open.
func TestSequences(t *testing.T) { rapid.Check(t, sequence) }

// FuzzSequences looks for sequences by coverage.
func FuzzSequences(f *testing.F) { f.Fuzz(rapid.MakeFuzz(sequence)) }

func sequence(t *rapid.T) {
	s := testSettings()
	s.Version2 = rapid.Bool().Draw(t, "version 2")
	s.Expiration = rapid.SampledFrom([]time.Duration{2 * time.Second, time.Hour}).Draw(t, "expiration")
	s.ExpiryCheck = rapid.SampledFrom([]time.Duration{time.Second, time.Minute}).Draw(t, "check")
	c := &crowd{t: t, stage: newStage(t, s), owners: map[string]*client{}, newest: map[heardAs]uint64{}}
	t.Repeat(map[string]func(*rapid.T){
		"init":     c.init,
		"recover":  c.recover,
		"add":      c.add,
		"adds":     c.add,
		"end":      c.end,
		"ends":     c.end,
		"verify":   c.verify,
		"finish":   c.finish,
		"wait":     c.wait,
		"restart":  c.restart,
		"jump":     c.jump,
		"fail":     c.fail,
		"lose":     c.lose,
		"describe": c.describe,
	})
	c.alone()
}

// crowd is nine clients, three for each of three transactional ids.
type crowd struct {
	t *rapid.T
	*stage
	// owners are the clients that an id's producer is now, by id; nil: nobody is, since the last was fenced.
	owners map[string]*client
	// newest connections that requests of clients before KIP-890 came over, since the last restart.
	newest map[heardAs]uint64
}

// heardAs is an identity and a kind of its requests.
type heardAs struct {
	identity
	lane
}

func (c *crowd) who(t *rapid.T) (who *client, id string) {
	id = rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "id")
	who = c.client(fmt.Sprintf("%s%d", id, rapid.IntRange(0, 2).Draw(t, "who")))
	if owner := c.owners[id]; owner != nil && rapid.Bool().Draw(t, "owner") {
		who = owner
	}
	return who, id
}

// identity is mostly who the client was told that it is.
func (c *crowd) identity(t *rapid.T, who *client) identity {
	p := who.identity
	p.Epoch += rapid.SampledFrom([]int16{0, 0, 0, 0, 0, 0, -1, 1}).Draw(t, "epoch off")
	return identity{p.ProducerID + rapid.SampledFrom([]int64{0, 0, 0, 0, 0, 0, 0, 1}).Draw(t, "id off"), max(p.Epoch, noEpoch)}
}

func (c *crowd) caller(t *rapid.T, versions ...int16) Caller {
	return Caller{Connection: rapid.Uint64Range(0, 3).Draw(t, "connection"), Version: rapid.SampledFrom(versions).Draw(t, "version")}
}

func partitionsOfTest(t *rapid.T, name string, most int) []Partition {
	return rapid.SliceOfN(rapid.SampledFrom([]Partition{{"a", 0}, {"a", 1}, {"b", 0}, {"__consumer_offsets", 7}}), 0, most).Draw(t, name)
}

func (c *crowd) ends(t *rapid.T) Ends {
	e := Ends{NewProducerID: noProducerID}
	if rapid.IntRange(0, 3).Draw(t, "trouble") == 0 {
		e.Unreachable, e.Gone = partitionsOfTest(t, "off", 3), partitionsOfTest(t, "gone", 1)
	}
	c.gone = e.Gone
	return e
}

func (c *crowd) init(t *rapid.T) {
	who, id := c.who(t)
	c.initialise(t, who, id, identity{noProducerID, noEpoch})
}

func (c *crowd) recover(t *rapid.T) {
	if who, id := c.who(t); who.ProducerID != noProducerID {
		c.initialise(t, who, id, c.identity(t, who))
	}
}

func (c *crowd) initialise(t *rapid.T, who *client, id string, p identity) {
	r := kmsg.NewPtrInitProducerIDRequest()
	in := Init{Caller: c.caller(t, 3, 4, 5), Ends: c.ends(t), Request: r}
	r.Version, r.TransactionalID, r.ProducerID, r.ProducerEpoch = in.Version, &id, p.ProducerID, p.Epoch
	r.TransactionTimeoutMillis = rapid.Int32Range(1, 5000).Draw(t, "timeout")
	before := c.m.durable()[id]
	known, whole := c.m.transactions[id].born(), p == identity{noProducerID, noEpoch}
	answer := c.step(in).(*kmsg.InitProducerIDResponse)
	told := identity{answer.ProducerID, answer.ProducerEpoch}
	switch {
	case answer.ErrorCode == 0 && !whole && known:
		c.checkOwner(who, id, p, "recover")
		if again := c.step(in).(*kmsg.InitProducerIDResponse); again.ErrorCode != 0 || again.ProducerID != told.ProducerID || again.ProducerEpoch != told.Epoch {
			t.Fatalf("%s recovers as %v and then as %d/%d (%s)", who.name, told, again.ProducerID, again.ProducerEpoch, scripts.Code(again.ErrorCode))
		}
	case answer.ErrorCode != 0 && whole && before.state == kmsg.TransactionStateOngoing:
		c.owners[id] = nil
	}
	if answer.ErrorCode == 0 {
		c.told(t, who, id, told)
	}
}

// told lets a client become who it was told to be, unless the answer is lost: then it does not know that it is the owner.
func (c *crowd) told(t *rapid.T, who *client, id string, p identity) {
	c.owners[id] = who
	if rapid.IntRange(0, 4).Draw(t, "lost") > 0 {
		who.identity = p
	}
}

// checkOwner: only who is the producer now is ever answered that all is well. p is who it says it is.
func (c *crowd) checkOwner(who *client, id string, p identity, what string) {
	c.t.Helper()
	owner := c.owners[id]
	if p != who.identity || owner != nil && owner.identity == p {
		return // it guessed
	}
	if owner != who {
		c.t.Fatalf("%s is %v and may %s, although %+v is the producer", who.name, p, what, owner)
	}
}

// checkLate: a request that could be late is answered so, and nothing else is, when another of its kind has come over a newer
// connection. What other kinds say of it is for the scripts.
func (c *crowd) checkLate(p identity, by Caller, l lane, late bool, what string) {
	c.t.Helper()
	k := heardAs{p, l}
	if by.Connection != 0 && by.Connection < c.newest[k] && !late {
		c.t.Fatalf("%s of %v over connection %d after one over %d", what, p, by.Connection, c.newest[k])
	}
	if !late {
		c.newest[k] = max(c.newest[k], by.Connection)
	}
	if late && (by.Connection == 0 || by.Connection >= c.highest(p)) {
		c.t.Fatalf("%s of %v over connection %d is late, and there is no newer one", what, p, by.Connection)
	}
}

// heardBy says whether a verification or an end with this answer has been heard: it comes from who is the producer now.
func heardBy(code int16) bool {
	return code == 0 || code == kerr.ConcurrentTransactions.Code || code == kerr.InvalidTxnState.Code
}

// highest is the newest connection that anything of an identity came over.
func (c *crowd) highest(p identity) (highest uint64) {
	for l := range lanes {
		highest = max(highest, c.newest[heardAs{p, l}])
	}
	return highest
}

func (c *crowd) add(t *rapid.T) {
	who, id := c.who(t)
	p := c.identity(t, who)
	in := Add{
		Caller: c.caller(t, 1, 3, 4, 5), TransactionalID: id, ProducerID: p.ProducerID, Epoch: p.Epoch, Partitions: partitionsOfTest(t, "partitions", 4),
		Implicit: rapid.Bool().Draw(t, "implicit"), Offsets: rapid.Bool().Draw(t, "offsets"),
	}
	answer := c.step(in).(Added)
	if early := !in.Implicit && (in.Offsets || in.Version < 4); early && (answer.Code == 0 || answer.Late) {
		c.checkLate(p, in.Caller, control, answer.Late, "an add")
	}
	if answer.Code != 0 {
		return
	}
	c.checkOwner(who, id, p, "add")
	is := c.m.durable()[id]
	if is.state != kmsg.TransactionStateOngoing || !containsAll(is.partitions, in.Partitions) {
		t.Fatalf("%v were added, and it is %s", in.Partitions, sayValue(is))
	}
	records := len(c.log)
	if again := c.step(in).(Added); again.Code != 0 || len(c.log) > records {
		t.Fatalf("the second add of the same: %v, %d records", again, len(c.log)-records)
	}
}

func (c *crowd) verify(t *rapid.T) {
	who, id := c.who(t)
	p := c.identity(t, who)
	in := Add{
		Caller: c.caller(t, 4, 5), TransactionalID: id, ProducerID: p.ProducerID, Epoch: p.Epoch, Partitions: partitionsOfTest(t, "partitions", 4), VerifyOnly: true,
		Implicit: rapid.Bool().Draw(t, "implicit"), Offsets: rapid.Bool().Draw(t, "offsets"),
	}
	records := len(c.log)
	answer := c.step(in).(Added)
	if len(c.log) > records {
		t.Fatalf("a verification wrote records")
	}
	if in.Implicit && heardBy(answer.Code) {
		c.checkLate(p, in.Caller, in.lane(), answer.Late, "a verification")
	}
	for i, code := range answer.Codes {
		if in := contains(c.m.durable()[id].partitions, in.Partitions[i]); in != (code == 0) {
			t.Fatalf("in the transaction: %t, code %d", in, code)
		}
	}
	if answer.Code == 0 {
		c.checkOwner(who, id, p, "verify")
	}
}

func (c *crowd) end(t *rapid.T) {
	who, id := c.who(t)
	p := c.identity(t, who)
	in := End{Caller: c.caller(t, 1, 4, 5), Ends: c.ends(t), TransactionalID: id, ProducerID: p.ProducerID, Epoch: p.Epoch, Commit: rapid.Bool().Draw(t, "commit")}
	before := c.m.durable()[id]
	answer := c.step(in).(Ended)
	if in.Version < 5 && heardBy(answer.Code) {
		c.checkLate(p, in.Caller, control, answer.Late, "an end")
	}
	after := c.m.durable()[id]
	if answer.Code != 0 {
		if before.updated != after.updated || before.identity != after.identity {
			t.Fatalf("a refused end changed %s to %s", sayValue(before), sayValue(after))
		}
		return
	}
	c.checkOwner(who, id, p, "end")
	if after.commits() != in.Commit {
		t.Fatalf("commit %t is fine, and it is %s", in.Commit, sayValue(after))
	}
	if told := (identity{answer.ProducerID, answer.Epoch}); told != after.goesOn() {
		t.Fatalf("the producer goes on as %v, and was told %v", after.goesOn(), told)
	}
	c.endAgain(t, in, answer, after)
	c.told(t, who, id, identity{answer.ProducerID, answer.Epoch})
}

// endAgain: the retry of an end that was fine is told the same, or to wait, and changes nothing.
func (c *crowd) endAgain(t *rapid.T, in End, answer Ended, after value) {
	records := len(c.log)
	again := c.step(in).(Ended)
	if waits := after.decided() && again == endRefused(51); !waits && again != answer || len(c.log) > records {
		t.Fatalf("an end was told %+v, its retry %+v with %d records", answer, again, len(c.log)-records)
	}
}

func (c *crowd) finish(t *rapid.T) {
	if len(c.asks) == 0 {
		return
	}
	i := rapid.IntRange(0, len(c.asks)-1).Draw(t, "ask")
	a := c.asks[i]
	if rapid.IntRange(0, 5).Draw(t, "twice") > 0 {
		c.asks = slices.Delete(c.asks, i, i+1)
	}
	c.step(Finish{TransactionalID: a.TransactionalID, ProducerID: a.ProducerID, Epoch: a.Epoch, Ends: c.ends(t)})
}

func (c *crowd) wait(t *rapid.T) {
	c.advance(c.now.Add(rapid.SampledFrom([]time.Duration{time.Millisecond, time.Second, 3 * time.Second, 20 * time.Second}).Draw(t, "for")))
}

func (c *crowd) restart(*rapid.T) {
	c.newest = map[heardAs]uint64{}
	c.stage.restart()
}

// fail lets the append of a step fail: nothing of it has happened.
func (c *crowd) fail(t *rapid.T) {
	who, id := c.who(t)
	r := initOf(id)
	r.Version, r.ProducerEpoch, r.ProducerID = 5, noEpoch, noProducerID
	before := c.m.durable()
	c.failing = true
	switch by := c.caller(t, 3, 5); rapid.IntRange(0, 2).Draw(t, "what") {
	case 0:
		c.step(Init{Caller: by, Ends: c.ends(t), Request: r})
	case 1:
		c.step(Add{Caller: by, TransactionalID: id, ProducerID: who.ProducerID, Epoch: who.Epoch, Partitions: partitionsOfTest(t, "partitions", 4)})
	case 2:
		c.step(End{Caller: by, Ends: c.ends(t), TransactionalID: id, ProducerID: who.ProducerID, Epoch: who.Epoch, Commit: true})
	}
	c.newest = map[heardAs]uint64{}
	if after := c.m.durable(); !reflect.DeepEqual(before, after) {
		t.Fatalf("after a failed append %+v is %+v", before, after)
	}
}

// jump brings an id near the end of its epochs. Its owner hears of it.
func (c *crowd) jump(t *rapid.T) {
	id := rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "id")
	v, known := c.m.durable()[id]
	owner := c.owners[id]
	if !known || v.decided() || owner == nil || v.Epoch > 32_000 {
		return
	}
	c.rewind(id, rapid.Int16Range(32_763, epochMax).Draw(t, "epoch"))
	c.newest = map[heardAs]uint64{}
	owner.identity = c.m.durable()[id].identity
}

func (c *crowd) describe(t *rapid.T) {
	_, id := c.who(t)
	c.step(Describe{TransactionalID: id})
	c.step(List{})
	open := 0
	for _, v := range c.m.durable() {
		if v.state == kmsg.TransactionStateOngoing {
			open++
		}
	}
	if n := c.step(Count{}).(Counts); n.States["Ongoing"] != open || (n.OldestID == "") != (open == 0) {
		t.Fatalf("%d are open, counted %+v", open, n)
	}
}

// alone lets whoever is asked do what was asked, for as long as the longest transaction may take. Then everything is over.
func (c *crowd) alone() {
	c.gone = nil
	for range 4 {
		c.advance(c.now.Add(5 * time.Second))
		for len(c.asks) > 0 {
			a := c.asks[0]
			c.asks = c.asks[1:]
			c.step(Finish{TransactionalID: a.TransactionalID, ProducerID: a.ProducerID, Epoch: a.Epoch, Ends: Ends{NewProducerID: noProducerID}})
		}
	}
	for id, v := range c.m.durable() {
		if v.state == kmsg.TransactionStateOngoing || v.decided() {
			c.t.Fatalf("%s is %s for ever", id, sayValue(v))
		}
	}
}

// lose has the record of an addition lost that was answered, and the partitions know of it: the machine that is made anew is told.
func (c *crowd) lose(t *rapid.T) {
	who, id := c.who(t)
	before := c.m.durable()[id]
	if before.state != kmsg.TransactionStateEmpty && before.version != 2 {
		return // its epoch outlives its transactions
	}
	partitions := partitionsOfTest(t, "partitions", 4)
	c.failing = true
	c.step(Add{
		Caller: Caller{Version: 12}, TransactionalID: id, ProducerID: who.ProducerID, Epoch: who.Epoch, Partitions: partitions, Implicit: true,
	})
	c.newest = map[heardAs]uint64{}
	var found Found
	for _, p := range partitions {
		found.Open = append(found.Open, Opened{who.ProducerID, who.Epoch, p})
	}
	c.step(found)
	after := c.m.durable()[id]
	if before.identity != who.identity || before.decided() || len(partitions) == 0 {
		if !reflect.DeepEqual(before, after) {
			t.Fatalf("what is not its own has changed %s to %s", sayValue(before), sayValue(after))
		}
		return
	}
	if after.state != kmsg.TransactionStateOngoing || !containsAll(after.partitions, partitions) || !containsAll(after.partitions, before.partitions) {
		t.Fatalf("%v were found, and it is %s", partitions, sayValue(after))
	}
}
