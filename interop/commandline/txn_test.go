package commandline

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/skeinstream/skein/interop/internal/report"
	"github.com/skeinstream/skein/interop/kafka"
)

// TestTransactionsLookLikeInKafkasOwnTool: every subcommand of kafka-transactions beside the verb of ours, on our broker and on
// Kafka's, with transactions that are open, over, and hanging. The latter take a broker that does not verify what it is sent.
func TestTransactionsLookLikeInKafkasOwnTool(t *testing.T) {
	for _, on := range []string{underTest, kafka.V4, kafka.V3} {
		t.Run(on, func(t *testing.T) {
			x := newBothWith(t, on, map[string]string{"transaction.partition.verification.enable": "false", "transaction.state.log.num.partitions": "4"})
			x.skein("topic", "create", producedTo, "--partitions", "4")
			w := x.someTransactions()
			x.compareLists()
			x.compareDescriptions(w)
			x.compareProducers()
			x.compareHanging(w)
			x.aborts(w)
			if !t.Failed() {
				report.Note(t, report.Run, "skein txn on "+on, "list, describe, producers, find-hanging and abort as kafka-transactions does")
				if x.ours {
					report.Note(t, report.Shown, "kafka-transactions "+kafka.V4, "list, describe, describe-producers, find-hanging, abort and forceTerminateTransaction")
				}
			}
		})
	}
}

// someTransactions are producers in all states: slow has a transaction in partitions 0 and 1; late has committed one in
// partition 1, and a batch of it came afterwards; stray has written to partition 2 what no coordinator knows; done is over.
type someTransactions struct{ slow, late, stray, done *producer }

func (x both) someTransactions() someTransactions {
	x.t.Helper()
	long := time.Now().Add(-5*time.Minute - time.Second)
	w := someTransactions{x.producer("slow", time.Now()), x.producer("late", long), x.producer("stray", long), x.producer("done", time.Now())}
	w.late.add(1)
	w.late.send(1)
	w.late.end(true)
	w.done.add(3)
	w.done.send(3)
	w.done.end(false)
	x.await("late", "CompleteCommit")
	x.await("done", "CompleteAbort")
	w.late.send(1)
	w.stray.send(2)
	w.stray.send(2)
	w.slow.add(0)
	w.slow.add(1)
	w.slow.send(0)
	w.slow.send(1)
	return w
}

// await waits for a state of a transactional id: Kafka answers before it has written the markers.
func (x both) await(id, state string) {
	x.t.Helper()
	ctx, cancel := x.context()
	defer cancel()
	for x.transaction(id).State != state {
		if ctx.Err() != nil {
			x.t.Fatalf("%s does not come to %s: %+v", id, state, x.transaction(id))
		}
	}
}

func (x both) transaction(id string) describedTxn {
	x.t.Helper()
	return read[[]describedTxn](x, "txn", "describe", id)[0]
}

func (x both) same(what string, ours, theirs []string) {
	x.t.Helper()
	slices.Sort(ours)
	slices.Sort(theirs)
	if !slices.Equal(ours, theirs) || len(ours) == 0 {
		x.t.Errorf("%s\nskein:\n%s\nkafka:\n%s", what, strings.Join(ours, "\n"), strings.Join(theirs, "\n"))
	}
}

func (x both) compareLists() {
	x.t.Helper()
	var ours, theirs []string
	for _, l := range read[[]struct {
		ID          string `json:"transactional_id"`
		State       string
		ProducerID  int64 `json:"producer_id"`
		Coordinator struct{ ID int32 }
	}](x, "txn", "list") {
		ours = append(ours, fmt.Sprint(l.ID, " ", l.Coordinator.ID, " ", l.ProducerID, " ", l.State))
	}
	for _, r := range x.kafkaTxns("list") {
		theirs = append(theirs, strings.Join([]string{r["TransactionalId"], r["Coordinator"], r["ProducerId"], r["TransactionState"]}, " "))
	}
	x.same("list", ours, theirs)
	x.has(x.skein("txn", "list", "--state", "ongoing"), "slow              Ongoing")
	for args, want := range map[string]string{
		"s*": "slow,stray", "--state CompleteCommit,completeabort": "done,late", "--longer-than 1ms": "slow", "--longer-than 1h": "",
		"--longer-than 1ms --state Empty": "",
	} {
		var ids []string
		for _, d := range read[[]describedTxn](x, append([]string{"txn", "list"}, strings.Fields(args)...)...) {
			ids = append(ids, d.ID)
		}
		if got := strings.Join(ids, ","); got != want {
			x.t.Errorf("list %s: %s, want %s", args, got, want)
		}
	}
}

func (x both) compareDescriptions(w someTransactions) {
	x.t.Helper()
	for _, p := range []*producer{w.slow, w.done} {
		d := x.transaction(p.name)
		var partitions []string
		for _, i := range d.Partitions[producedTo] {
			partitions = append(partitions, fmt.Sprint(producedTo, "-", i))
		}
		started := "None"
		if d.Started != nil {
			started = strconv.FormatInt(d.Started.UnixMilli(), 10)
		}
		ours := fmt.Sprint(d.Coordinator.ID, " ", d.ID, " ", d.ProducerID, " ", d.Epoch, " ", d.State, " ", d.Timeout, " ", started, " ", strings.Join(partitions, ","))
		r := x.kafkaTxns("describe", "--transactional-id", p.name)[0]
		named := strings.Split(r["TopicPartitions"], ",")
		slices.Sort(named)
		theirs := strings.Join([]string{
			r["CoordinatorId"], r["TransactionalId"], r["ProducerId"], r["ProducerEpoch"], r["TransactionState"], r["TransactionTimeoutMs"],
			r["CurrentTransactionStartTimeMs"], strings.Join(named, ","),
		}, " ")
		x.same("describe "+p.name, []string{ours}, []string{theirs})
	}
	if d := x.transaction("slow"); d.Age == nil || *d.Age <= 0 || d.Started == nil {
		x.t.Errorf("%+v", d)
	}
	x.has(x.skein("txn", "describe", "slow"), "State:       Ongoing", "Timeout:     15m0s", ", open for ", "Partitions:  orders:0-1")
	x.refused(`did you mean "slow"?`, "txn", "describe", "slov")
}

func (x both) compareProducers() {
	x.t.Helper()
	for _, partition := range []int{1, 3} {
		var ours, theirs []string
		for _, p := range read[[]foundTxn](x, "txn", "producers", fmt.Sprint(producedTo, ":", partition)) {
			start, last := "None", int64(-1)
			if p.Start != nil {
				start = strconv.FormatInt(*p.Start, 10)
			}
			if p.LastTimestamp != nil {
				last = p.LastTimestamp.UnixMilli()
			}
			ours = append(ours, fmt.Sprint(p.ProducerID, " ", p.Epoch, " ", p.CoordinatorEpoch, " ", p.LastSequence, " ", last, " ", start))
		}
		for _, r := range x.kafkaTxns("describe-producers", "--topic", producedTo, "--partition", strconv.Itoa(partition)) {
			theirs = append(theirs, strings.Join([]string{r["ProducerId"], r["ProducerEpoch"], r["LatestCoordinatorEpoch"], r["LastSequence"], r["LastTimestamp"], r["CurrentTransactionStartOffset"]}, " "))
		}
		x.same(fmt.Sprint("producers of partition ", partition), ours, theirs)
	}
}

func (x both) hanging(args ...string) (found []foundTxn, lines []string) {
	x.t.Helper()
	found = read[[]foundTxn](x, append([]string{"txn", "find-hanging"}, args...)...)
	for _, f := range found {
		lines = append(lines, fmt.Sprint(f.Topic, " ", f.Partition, " ", f.ProducerID, " ", f.Epoch, " ", f.CoordinatorEpoch, " ", *f.Start, " ", f.LastTimestamp.UnixMilli()))
	}
	return found, lines
}

func (x both) hangingByKafka(args ...string) (lines []string) {
	x.t.Helper()
	for _, r := range x.kafkaTxns(append([]string{"find-hanging", "--max-transaction-timeout", "1"}, args...)...) {
		lines = append(lines, strings.Join([]string{r["Topic"], r["Partition"], r["ProducerId"], r["ProducerEpoch"], r["CoordinatorEpoch"], r["StartOffset"], r["LastTimestamp"]}, " "))
	}
	return lines
}

func (x both) compareHanging(w someTransactions) {
	x.t.Helper()
	found, ours := x.hanging()
	x.same("find-hanging", ours, x.hangingByKafka("--topic", producedTo))
	x.same("find-hanging of the broker", ours, x.hangingByKafka("--broker-id", fmt.Sprint(x.transaction("slow").Coordinator.ID)))
	if len(found) != 2 {
		x.t.Fatalf("%+v", found)
	}
	late, stray := found[0], found[1]
	if late.ProducerID != w.late.id || late.ID != "late" || !strings.Contains(late.Why, "no open transaction") || late.Blocked != 2 || !late.Holds {
		x.t.Errorf("late: %+v", late)
	}
	if stray.ProducerID != w.stray.id || stray.ID != "stray" || stray.CoordinatorEpoch != -1 || stray.Blocked != 2 || !stray.Holds {
		x.t.Errorf("stray: %+v", stray)
	}
	for _, f := range found {
		if f.Since == nil || f.Since.UnixMilli() != w.late.written.UnixMilli() && f.Since.UnixMilli() != w.stray.written.UnixMilli() {
			x.t.Errorf("partition %d is held since %v", f.Partition, f.Since)
		}
		if want := fmt.Sprintf("skein txn abort --topic orders --partition %d --start-offset %d --execute", f.Partition, *f.Start); f.Abort != want {
			x.t.Errorf("%s", f.Abort)
		}
	}
	if all, _ := x.hanging("--all"); len(all) != 4 {
		x.t.Errorf("%+v", all)
	}
	for args, want := range map[string]int{"--topic orders:2": 1, "--topic orders:0,3": 0, "--older-than 1h": 0, "--older-than 4m": 2} {
		if some, _ := x.hanging(strings.Fields(args)...); len(some) != want {
			x.t.Errorf("find-hanging %s: %+v", args, some)
		}
	}
	x.refused("no broker 77 runs", "txn", "find-hanging", "--broker", "77")
	x.has(x.skein("txn", "find-hanging"), "hanging  late", "2 offsets", "known to a coordinator: 2 ongoing", "  "+late.Abort+"\n")
}

// aborts ends all of it, one with our command and the other with Kafka's.
func (x both) aborts(w someTransactions) {
	x.t.Helper()
	x.refused("does not hang: slow has it (Ongoing)", "txn", "abort", "--topic", producedTo, "--partition", "0", "--start-offset", "0", "--execute")
	x.refused("no transaction is open in orders partition 1 from offset 99 on", "txn", "abort", "--topic", producedTo, "--partition", "1", "--start-offset", "99", "--execute")
	found, before := x.hanging()
	command := strings.Fields(found[0].Abort)[1:]
	x.has(x.skein(slices.DeleteFunc(slices.Clone(command), func(w string) bool { return w == "--execute" })...), "would abort", "nothing has changed")
	if _, after := x.hanging(); !slices.Equal(before, after) {
		x.t.Errorf("a dry run has changed %v to %v", before, after)
	}
	x.has(x.skein(command...), "aborted the transaction of producer "+fmt.Sprint(w.late.id))
	x.same("one is left", []string{before[1]}, x.hangingByKafka("--topic", producedTo))
	x.kafkaTxns("abort", "--topic", producedTo, "--partition", "2", "--start-offset", fmt.Sprint(*found[1].Start))
	if left, _ := x.hanging(); len(left) != 0 {
		x.t.Errorf("left: %+v", left)
	}
	if left := x.hangingByKafka("--topic", producedTo); len(left) != 0 {
		x.t.Errorf("left: %v", left)
	}
	x.terminates(w)
	if got, want := x.skein("consume", producedTo, "--exit-at-end"), "of late\n"; got != want {
		x.t.Errorf("committed readers see %q, want %q", got, want)
	}
}

// terminates ends what producers have not: the producers are fenced.
func (x both) terminates(w someTransactions) {
	x.t.Helper()
	x.refused("has no open transaction (CompleteAbort)", "txn", "abort", "--transactional-id", "done", "--execute")
	x.refused(`no transactional id "slov"`, "txn", "abort", "--transactional-id", "slov", "--execute")
	x.has(x.skein("txn", "abort", "--transactional-id", "slow"), "would abort the transaction of slow", "in orders:0-1")
	if d := x.transaction("slow"); d.State != "Ongoing" {
		x.t.Errorf("a dry run: %+v", d)
	}
	x.has(x.skein("txn", "abort", "--transactional-id", "slow", "--execute"), "aborted the transaction of slow")
	if r := x.kafkaTxns("describe", "--transactional-id", "slow")[0]; r["ProducerEpoch"] == fmt.Sprint(w.slow.epoch) || r["TransactionState"] != "Empty" {
		x.t.Errorf("%v", r)
	}
	if x.tools.Version != kafka.V4 { // Kafka 3 has no such subcommand
		return
	}
	w.done.add(3)
	w.done.send(3)
	x.kafkaTxns("forceTerminateTransaction", "--transactionalId", "done")
	if d := x.transaction("done"); d.State != "Empty" || d.Epoch == w.done.epoch {
		x.t.Errorf("%+v", d)
	}
}
