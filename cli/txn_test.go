package cli

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/cli/internal/txns"
)

func TestTransactionalIDsAreListed(t *testing.T) {
	for _, release := range []string{"4.4", "3.0"} {
		f, c := startTxns(t, release)
		f.some()
		want := `TRANSACTIONAL-ID  STATE           PRODUCER-ID  COORDINATOR
app-1             Ongoing         11           1
app-2             CompleteCommit  12           1
app-3             PrepareAbort    13           1
new               Empty           15           1
slow              Ongoing         14           1
`
		if got := c.do("txn", "list"); got != want {
			t.Errorf("got %s", got)
		}
		for args, want := range map[string]string{
			"--state ongoing": "app-1,slow", "--state Empty,PrepareAbort": "app-3,new", "app-*": "app-1,app-2,app-3", "app-[13]": "app-1,app-3", "--producer-id 12,14": "app-2,slow",
			"app-* --state Ongoing --producer-id 14": "", "--longer-than 1m": "app-3,slow", "--longer-than 10s": "app-1,app-3,slow", "s* --longer-than 10s": "slow", "--longer-than 10h": "",
		} {
			var list []txns.Listed
			decode(t, c.do(append([]string{"txn", "list", "--json"}, strings.Fields(args)...)...), &list)
			var ids []string
			for _, l := range list {
				ids = append(ids, l.ID)
			}
			if got := strings.Join(ids, ","); got != want {
				t.Errorf("%s, %s: %s, want %s", release, args, got, want)
			}
		}
		c.want(c.do("txn", "list", "--longer-than", "1m"), "OPEN-FOR", "3h0m", "slow              Ongoing       14           0      ")
		s := c.shell("")
		s.run(t.Context(), "txn", "list", "zz*")
		c.want(s.stderr.String(), nothingListed)
	}
}

// TestABrokerThatCanSearchesByPattern, so that its answer is short.
func TestABrokerThatCanSearchesByPattern(t *testing.T) {
	f, c := startTxns(t, "4.4")
	f.some()
	c.do("txn", "list", "app-*", "--state", "Ongoing")
	if r := f.listed[0]; r.TransactionalIDPattern == nil || *r.TransactionalIDPattern != "app-.*" || r.StateFilters[0] != "Ongoing" || r.DurationFilterMillis != -1 {
		t.Errorf("%+v", r)
	}
	f.refuse[66] = kerr.TransactionalIDAuthorizationFailed
	c.want(c.fail(1, "", "txn", "list"), "TRANSACTIONAL_ID_AUTHORIZATION_FAILED")
}

func TestATransactionIsDescribed(t *testing.T) {
	f, c := startTxns(t, "3.0")
	f.some()
	c.want(c.do("txn", "describe", "app-1"), "Id:          app-1", "State:       Ongoing", "Producer:    11, epoch 3", "Timeout:     1m0s", ", open for 30", "Coordinator: 1 (127.0.0.1:", "Partitions:  orders:0-1")
	c.want(c.do("txn", "describe", "app-2"), ", and has ended")
	c.want(c.do("txn", "describe", "app-3"), "Unmarked:    orders:3")
	c.want(c.do("txn", "describe", "slow"), "open for 3h0m: its coordinator should have aborted it")
	var list []txns.Transaction
	decode(t, c.do("txn", "describe", "new", "slow", "--json"), &list)
	if n := list[0]; len(list) != 2 || n.Started != nil || n.AgeMs != nil || n.Overdue || n.Partitions == nil {
		t.Errorf("%+v", list)
	}
	if s := list[1]; !s.Overdue || *s.AgeMs < 3*3_600_000 || s.TimeoutMs != 60_000 || s.Coordinator.ID != 1 || !s.Partitions.Has(txns.Place{Topic: "payments"}) {
		t.Errorf("%+v", s)
	}
	c.want(c.fail(1, "", "txn", "describe", "app-0", "slow"), `there is no transactional id "app-0"`, "did you mean", "Producer:    14")
	f.refuse[65] = kerr.TransactionalIDAuthorizationFailed
	c.want(c.fail(1, "", "txn", "describe", "slow"), "cannot describe the transactional id slow", "ask the cluster's operator for an ACL")
}

func TestProducersAreShown(t *testing.T) {
	f, c := startTxns(t, "3.0")
	f.some()
	out := c.do("txn", "producers", "orders:0")
	c.want(out, "TOPIC   PARTITION  PRODUCER-ID  EPOCH  COORDINATOR-EPOCH  LAST-SEQUENCE  LAST-WRITE", "orders  0          11           3      2                  8", "orders  0          99           0      -1")
	if open := c.do("txn", "producers", "orders", "payments:0", "--open"); strings.Contains(open, " 99 ") || strings.Count(open, "\n") != 7 {
		t.Errorf("%s", open)
	}
	var list []txns.Producer
	decode(t, c.do("txn", "producers", "orders:0", "--json"), &list)
	if len(list) != 3 || *list[0].StartOffset != 90 || list[2].StartOffset != nil || list[2].LastTimestamp == nil {
		t.Errorf("%+v", list)
	}
	c.want(c.fail(1, "", "txn", "producers", "order"), `no topic "order"`, `did you mean "orders"?`)
	c.want(c.fail(1, "", "txn", "producers", "orders:4"), "topic orders has no partition 4", "it has 4 partitions, from 0 on")
}

func TestOldBrokersAreNamedWithWhatTheyLack(t *testing.T) {
	f, c := startTxns(t, "2.7")
	f.some()
	c.want(c.fail(1, "", "txn", "list"), "broker 1 (127.0.0.1:", "does not know ListTransactions (API 66), which came with Kafka 3.0", "from Kafka 2.8 on `skein txn producers TOPIC --open`")
	c.want(c.fail(1, "", "txn", "describe", "slow"), "does not know DescribeTransactions (API 65), which came with Kafka 3.0")
	c.want(c.fail(1, "", "txn", "producers", "orders"), "does not know DescribeProducers (API 61), which came with Kafka 2.8", "skein log dump", "with every release")
	c.want(c.fail(1, "", "txn", "find-hanging"), "does not know DescribeProducers (API 61)")
	c.want(c.fail(1, "", "txn", "abort", "--transactional-id", "slow", "--execute"), "does not know DescribeTransactions (API 65)")
	c.want(c.do("txn", "abort", "--topic", "payments", "--partition", "0", "--producer-id", "77", "--producer-epoch", "2", "--coordinator-epoch", "-1", "--execute"),
		"aborted the transaction of producer 77, epoch 2, in payments partition 0\n", "committed readers come to offset 10 now")
	if r := f.requests[0].(*kmsg.WriteTxnMarkersRequest); len(f.requests) != 1 || r.Markers[0].CoordinatorEpoch != 0 {
		t.Errorf("%+v", f.requests)
	}
	half, c := startTxns(t, "2.8")
	half.some()
	c.want(c.do("txn", "producers", "orders:2", "orders:3"), "orders  3          13")
	c.want(c.fail(1, "", "txn", "abort", "--topic", "payments", "--partition", "0", "--start-offset", "10", "--execute"), "does not know ListTransactions (API 66)")
	if len(half.requests) > 0 {
		t.Errorf("%+v", half.requests)
	}
}

func TestTransactionSlipsAreCaught(t *testing.T) {
	const place = " --topic t --partition 0"
	for _, c := range []struct{ args, what, do string }{
		{"txn lst", `skein txn has no command "lst"`, `"list"`},
		{"txn list a b", "one pattern", "quote"},
		{"txn list [", `"[" is not a pattern`, ""},
		{"txn list --state Ongong", `no state "Ongong"`, `"Ongoing"`},
		{"txn list --longer-than -5s", "before now", "5m"},
		{"txn list --longer-than 5", "not a duration", ""},
		{"txn list --producer-id x", "not a list of whole numbers", ""},
		{"txn describe", "needs a transactional id", "usage"},
		{"txn producers", "needs a topic", "usage"},
		{"txn producers t:x", `"x" in "t:x" is not a partition`, "TOPIC:0,1"},
		{"txn find-hanging orders", "takes no arguments", ""},
		{"txn find-hanging --older-than -1s", "before now", "15m"},
		{"txn abort", "which transaction?", "find-hanging"},
		{"txn abort --topic t --start-offset 1", "which transaction?", "--partition"},
		{"txn abort --start-offset 1 --transactional-id x", "--transactional-id is about all partitions, --start-offset about one", "keep one"},
		{"txn abort --transactional-id x --producer-id 1", "--producer-id about one", "keep one"},
		{"txn abort" + place, "which transaction?", "--start-offset"},
		{"txn abort" + place + " --start-offset 1 --producer-id 1", "say both", "keep one"},
		{"txn abort" + place + " --producer-id 1 --producer-epoch 0", "only --producer-id and --producer-epoch", "skein txn producers"},
		{"txn abort" + place + " --start-offset -2", "begin at 0", ""},
		{"txn abort --topic t --partition -1 --start-offset 2", "begin at 0", ""},
		{"txn abort" + place + " --start-offset soon", `"soon" is not a whole number`, ""},
	} {
		var s shell
		code := s.run(t.Context(), strings.Fields(c.args)...)
		if out := s.stderr.String(); code != 2 || !strings.Contains(out, c.what) || !strings.Contains(out, c.do) || s.stdout.String() != "" {
			t.Errorf("skein %s: exit %d\n%s%s", c.args, code, out, s.stdout.String())
		}
	}
}

func TestCompletionOffersTransactionalIDs(t *testing.T) {
	f, c := startTxns(t, "4.4")
	f.some()
	for _, verb := range []string{"list", "describe"} {
		c.want(c.do("__complete", "txn", verb, "ap"), "app-1\n", ":4")
	}
	c.want(c.do("__complete", "txn", "abort", "--transactional-id", "s"), "slow\n")
	c.want(c.do("__complete", "txn", "abort", "--topic", "o"), "orders\n")
	c.want(c.do("__complete", "txn", "find-hanging", "--topic", "o"), "orders\n")
	c.want(c.do("__complete", "txn", "producers", "o"), "orders\n")
	c.want(c.do("__complete", "txn", "list", "--state", "O"), "Ongoing\n")
}

func TestTransactionVerbsEndWhenInterrupted(t *testing.T) {
	f, c := startTxns(t, "4.4")
	f.some()
	for _, verb := range []string{"list", "find-hanging", "abort --transactional-id slow --execute"} {
		ctx, cancel := context.WithCancel(t.Context())
		f.lock.Lock()
		f.refuse[66] = kerr.CoordinatorLoadInProgress // for ever: the client asks again and again
		f.ids["slow"].busy = 1 << 30
		f.asked = func(req kmsg.Request) {
			if key := req.Key(); key == 66 || key == 22 {
				cancel()
			}
		}
		f.lock.Unlock()
		s := c.shell("")
		if code := s.run(ctx, append([]string{"txn"}, strings.Fields(verb+" --timeout 5m")...)...); code != 130 || s.stderr.String() != "" {
			t.Errorf("%s: exit %d: %s", verb, code, s.stderr.String())
		}
		cancel()
	}
}

// Whatever clients call themselves does not steer the terminal.
func TestTransactionalIDsDoNotSteerTheTerminal(t *testing.T) {
	f, c := startTxns(t, "4.4")
	f.some()
	const clear = "\x1b[2J"
	f.ids[clear] = f.ids["slow"]
	delete(f.ids, "slow")
	for _, args := range []string{"list", "list --longer-than 1m", "describe " + clear, "describe x" + clear, "find-hanging --all", "abort --transactional-id " + clear,
		"abort --topic payments --partition 0 --start-offset 20 --execute"} {
		s := c.shell("")
		s.run(t.Context(), append([]string{"txn"}, strings.Fields(args)...)...)
		if out := s.stdout.String() + s.stderr.String(); strings.ContainsFunc(out, func(r rune) bool { return r != '\n' && unicode.IsControl(r) }) {
			t.Errorf("%s: %q", args, out)
		}
	}
}

func TestAgesAreShortAndTimesAreUTC(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 1234567 * time.Nanosecond: "1ms", 1500 * time.Millisecond: "2s", 90 * time.Second: "1m30s", time.Hour: "1h0m", 26*time.Hour + 90*time.Second: "26h2m", 50 * time.Hour: "2d2h",
	} {
		if got := ageText(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
	at := time.Date(2026, 11, 30, 13, 0, 0, 0, time.FixedZone("", 3600))
	if got := fmt.Sprint(timeText(&at), timeText(nil)); got != "2026-11-30T12:00:00Z-" {
		t.Errorf("%s", got)
	}
}
