package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/cli/internal/txns"
)

// lines are what findings are, in short.
func lines(list []txns.Finding) string {
	var out []string
	for _, f := range list {
		out = append(out, fmt.Sprint(f.Topic, ":", f.Partition, " ", *f.StartOffset, " ", f.Verdict))
	}
	return strings.Join(out, ", ")
}

func TestHangingTransactionsAreFound(t *testing.T) {
	f, c := startTxns(t, "3.0")
	f.some()
	for args, want := range map[string]string{
		"":                                    "orders:0 40 hanging, payments:0 10 hanging",
		"--all":                               "orders:0 40 hanging, orders:0 90 ongoing, orders:1 7 ongoing, orders:3 60 ending, payments:0 10 hanging, payments:0 20 overdue",
		"--topic orders:1,2 --topic payments": "payments:0 10 hanging", "--topic orders": "orders:0 40 hanging", "--older-than 2h": "payments:0 10 hanging",
		"--older-than 60h": "", "--broker 1": "orders:0 40 hanging, payments:0 10 hanging",
	} {
		var list []txns.Finding
		decode(t, c.do(append([]string{"txn", "find-hanging", "--json"}, strings.Fields(args)...)...), &list)
		if got := lines(list); got != want {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
	}
	var list []txns.Finding
	decode(t, c.do("txn", "find-hanging", "--json", "--tls=false"), &list)
	if o := list[0]; o.ID != "app-2" || o.State != "CompleteCommit" || o.Blocked != 60 || !o.Holds || o.Since != nil || o.Abort != "skein txn abort --topic orders --partition 0 --start-offset 40 --tls=false --execute" {
		t.Errorf("%+v", o)
	}
	if p := list[1]; p.ID != "" || p.Blocked != 20 || !p.Holds || p.Since == nil || *p.OpenMs < 50*3_600_000 || p.CoordinatorEpoch != -1 {
		t.Errorf("%+v", p)
	}
	if len(f.requests) > 0 {
		t.Errorf("looking has changed something: %+v", f.requests)
	}
	c.want(c.fail(1, "", "txn", "find-hanging", "--topic", "order"), `no topic "order"`)
	c.want(c.fail(1, "", "txn", "find-hanging", "--broker", "7"), "no broker 7 runs", "those that run are: 1")
	f.refuse[66] = kerr.TransactionalIDAuthorizationFailed // who does not answer might know it
	c.want(c.fail(1, "", "txn", "find-hanging"), "cannot list the transactional ids of broker 1")
}

func TestHangingTransactionsAreShown(t *testing.T) {
	f, c := startTxns(t, "4.4")
	f.some()
	s := c.shell("")
	s.run(t.Context(), "txn", "find-hanging")
	c.want(s.stdout.String(), "TOPIC     PARTITION  PRODUCER-ID  EPOCH  START", "60 offsets", "2d2h", "hanging  app-2", "no transactional id has this producer id",
		"  skein txn abort --topic payments --partition 0 --start-offset 10 --execute\n")
	c.want(s.stderr.String(), "open in partitions and known to a coordinator: 1 overdue, 1 ending, 2 ongoing (--all shows them)")
	c.want(c.do("txn", "find-hanging", "--all"), "overdue  slow", "  skein txn abort --transactional-id slow --execute\n")
	delete(f.producers, place{"payments", 0})
	f.topics["payments"][0].stable = 30
	s = c.shell("")
	s.run(t.Context(), "txn", "find-hanging", "--topic", "orders:1-3", "--progress")
	c.want(s.stderr.String(), "no transaction hangs; open in partitions")
}

// TestWhatEndsMeanwhileDoesNotHang: a transaction that ends between two questions, and one whose coordinator has just moved.
func TestWhatEndsMeanwhileDoesNotHang(t *testing.T) {
	f, c := startTxns(t, "3.0")
	f.some()
	at := place{"payments", 0}
	f.ids["moves"] = &fakeTxn{state: "Ongoing", producer: 1, partitions: map[string][]int32{"payments": {0}}}
	f.producers[at] = []fakeProducer{{id: 88, start: 10}, {id: 99, start: 12}}
	lists := 0
	f.asked = func(req kmsg.Request) {
		if req.Key() != 66 {
			return
		}
		f.producers[at][0].start = -1 // it has just been committed
		if lists++; lists == 2 {
			f.ids["moves"].producer = 99 // its new coordinator has it now
		}
	}
	var list []txns.Finding
	decode(t, c.do("txn", "find-hanging", "--topic", "payments", "--json"), &list)
	if len(list) != 0 || lists != 2 {
		t.Errorf("%s; asked %d times", lines(list), lists)
	}
}

func TestHangingTransactionsAreAborted(t *testing.T) {
	f, c := startTxns(t, "4.4")
	f.some()
	at := []string{"txn", "abort", "--topic", "orders", "--partition", "0", "--start-offset"}
	c.want(c.do(append(at, "40")...), "would abort the transaction of producer 12, epoch 5, in orders partition 0 from offset 40 on\nnothing has changed: --execute does it")
	c.want(c.fail(1, "", append(at, "90", "--execute")...), "does not hang: app-1 has it (Ongoing)", "skein txn abort --transactional-id app-1")
	c.want(c.fail(1, "", append(at, "41", "--execute")...), "no transaction is open in orders partition 0 from offset 41 on", "begin at: 90, 40")
	c.want(c.fail(1, "", "txn", "abort", "--topic", "orders", "--partition", "3", "--start-offset", "60", "--execute"), "does not hang: app-3 has it (PrepareAbort)", "log may tell why")
	c.want(c.fail(1, "", "txn", "abort", "--topic", "orders", "--partition", "9", "--start-offset", "60"), "no partition 9")
	if len(f.requests) > 0 {
		t.Fatalf("%+v", f.requests)
	}
	var out abortedInPartition
	decode(t, c.do(append(at, "40", "--execute", "--json")...), &out)
	if !out.Aborted || out.DryRun || out.ProducerID != 12 || *out.StartOffset != 40 || *out.LastStable != 40 {
		t.Errorf("%+v", out)
	}
	r := f.requests[0].(*kmsg.WriteTxnMarkersRequest)
	if m := r.Markers[0]; len(f.requests) != 1 || m.ProducerEpoch != 5 || m.CoordinatorEpoch != 4 || m.Committed || m.TransactionVersion != 0 {
		t.Errorf("%+v", r)
	}
	c.want(c.fail(1, "", append(at, "40", "--execute")...), "no transaction is open")
}

func TestWhyAMarkerIsRefusedIsTold(t *testing.T) {
	f, c := startTxns(t, "4.4")
	f.some()
	for code, want := range map[*kerr.Error]string{
		kerr.ClusterAuthorizationFailed: "CLUSTER_ACTION", kerr.InvalidProducerEpoch: "higher epoch", kerr.TransactionCoordinatorFenced: "--coordinator-epoch",
	} {
		f.refuse[27] = code
		c.want(c.fail(1, "", "txn", "abort", "--topic", "payments", "--partition", "0", "--start-offset", "10", "--execute"), "cannot abort the transaction in payments partition 0", code.Message, want)
	}
}

func TestTheTransactionOfAnIdIsAborted(t *testing.T) {
	f, c := startTxns(t, "3.0")
	f.some()
	c.want(c.do("txn", "abort", "--transactional-id", "slow"), "would abort the transaction of slow (producer 14, epoch 0, open for 3h0m) in payments:0, and fence its producer\nnothing has changed")
	c.want(c.fail(1, "", "txn", "abort", "--transactional-id", "app-2", "--execute"), "app-2 has no open transaction (CompleteCommit)")
	c.want(c.fail(1, "", "txn", "abort", "--transactional-id", "app-3", "--execute"), "is decided (PrepareAbort); markers are missing in orders:3")
	c.want(c.fail(1, "", "txn", "abort", "--transactional-id", "slov", "--execute"), `no transactional id "slov"`, `did you mean "slow"?`)
	if len(f.requests) > 0 {
		t.Fatalf("%+v", f.requests)
	}
	f.ids["slow"].busy = 2
	c.want(c.do("txn", "abort", "--transactional-id", "slow", "--execute"), "aborted the transaction of slow (producer 14, epoch 0", "and fenced its producer")
	if r := f.requests[2].(*kmsg.InitProducerIDRequest); len(f.requests) != 3 || *r.TransactionalID != "slow" || r.ProducerID != -1 || r.ProducerEpoch != -1 || f.ids["slow"].state != "Empty" {
		t.Errorf("%+v", r)
	}
	f.refuse[22] = kerr.TransactionalIDAuthorizationFailed
	var out terminatedTxn
	decode(t, c.do("txn", "abort", "--transactional-id", "app-1", "--json"), &out)
	if !out.DryRun || out.Aborted || out.ID != "app-1" || out.Epoch != 3 {
		t.Errorf("%+v", out)
	}
	c.want(c.fail(1, "", "txn", "abort", "--transactional-id", "app-1", "--execute"), "cannot end the transaction of app-1", "ACL")
}
