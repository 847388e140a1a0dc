package cli

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/skeinstream/skein/cli/internal/txns"
)

// begun is a producer with an open transaction that has a record in the first partition of a topic.
func (c cluster) begun(id, topic string) *kgo.Client {
	c.t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.address), kgo.TransactionalID(id), kgo.DefaultProduceTopic(topic), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(cl.Close)
	if err := cl.BeginTransaction(); err != nil {
		c.t.Fatal(err)
	}
	if err := cl.ProduceSync(c.t.Context(), kgo.StringRecord("of "+id)).FirstErr(); err != nil {
		c.t.Fatal(err)
	}
	return cl
}

// TestTransactionsOfOurOwnBroker goes through the life of transactions with every verb.
func TestTransactionsOfOurOwnBroker(t *testing.T) {
	c := startGroupCluster(t)
	c.do("topic", "create", "orders", "-p", "2")
	c.want(c.fail(1, "", "txn", "describe", "app-1"), `there is no transactional id "app-1"`)
	none := c.shell("")
	none.run(t.Context(), "txn", "list")
	c.want(none.stderr.String(), nothingKnown)
	c.begun("app-1", "orders")
	two := c.begun("app-2", "orders")
	c.want(c.do("txn", "list", "--state", "Ongoing"), "app-1             Ongoing  ", "app-2             Ongoing  ")
	c.want(c.do("txn", "describe", "app-1"), "State:       Ongoing", "Partitions:  orders:0\n", ", open for ")
	var found []txns.Finding
	decode(t, c.do("txn", "find-hanging", "--all", "--json"), &found)
	if got := lines(found); got != "orders:0 0 ongoing, orders:0 1 ongoing" || found[0].ID != "app-1" || !found[0].Holds || found[1].Holds || found[0].Blocked != 2 {
		t.Errorf("%s: %+v", got, found)
	}
	s := c.shell("")
	s.run(t.Context(), "txn", "find-hanging")
	c.want(s.stderr.String(), "no transaction hangs; open in partitions and known to a coordinator: 2 ongoing")
	c.want(c.fail(1, "", "txn", "abort", "--topic", "orders", "--partition", "0", "--start-offset", "0", "--execute"), "does not hang: app-1 has it (Ongoing)")

	c.want(c.do("txn", "abort", "--transactional-id", "app-1"), "would abort the transaction of app-1", "in orders:0", "nothing has changed")
	c.want(c.do("txn", "abort", "--transactional-id", "app-1", "--execute"), "aborted the transaction of app-1", "fenced its producer")
	c.want(c.fail(1, "", "txn", "abort", "--transactional-id", "app-1"), "has no open transaction")
	p := found[1].Producer
	c.want(c.do("txn", "abort", "--topic", "orders", "--partition", "0", "--producer-id", fmt.Sprint(p.ProducerID), "--producer-epoch", fmt.Sprint(p.Epoch), "--coordinator-epoch", "-1", "--execute"),
		"aborted the transaction of producer "+fmt.Sprint(p.ProducerID), "committed readers come to offset 4 now")
	c.want(c.do("txn", "producers", "orders:0"), fmt.Sprintf("orders  0          %d ", p.ProducerID))
	if err := two.EndTransaction(t.Context(), kgo.TryAbort); err != nil {
		t.Logf("its producer is told: %v", err)
	}
	if out := c.do("consume", "orders", "--exit-at-end"); out != "" {
		t.Errorf("committed readers see %s", out)
	}
}
