package differential

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/skeinstream/skein/interop/internal/report"
	"github.com/skeinstream/skein/interop/kafka"
)

var (
	txnsForFlag   = flag.Duration("txnsfor", 20*time.Second, "how long to go on drawing cases about transactions")
	txnsStepsFlag = flag.Int("txnsteps", 45, "steps a case about transactions")
)

// transactions plays scripts about transactions, and then draws cases about them.
func transactions(t *testing.T, p *pair) {
	p.steps = 0
	t.Run("scripts", func(t *testing.T) {
		playScripts(t, p, "txn-offsets")
		playScripts(t, p, "txns")
		report.Note(t, report.Shown, "differential transaction scripts", "%d steps answered as Kafka %s answers", p.steps, kafka.V4)
	})
	p.steps, p.free = 0, 0
	clear(p.seen)
	t.Run("random", func(t *testing.T) {
		cases := p.draw(t, *txnsForFlag, p.drawTxnCase)
		for _, answer := range sortedKeys(p.seen) {
			t.Logf("%6d %s", p.seen[answer], answer)
		}
		report.Note(t, report.Shown, "differential transactions",
			"%d steps in %d random cases about transactions answered as Kafka %s answers; it said %d times to come again, the broker under test %d times",
			p.steps, cases, kafka.V4, p.kafka.cameAgain, p.target.cameAgain)
	})
}

// drawTxnCase runs the transaction case of one seed, and makes it small when it differs.
func (p *pair) drawTxnCase(seed uint64) (*finding, error) {
	now := time.Now().UnixMilli()
	return p.drawn(seed, func(run int) (string, []step) {
		prefix := fmt.Sprintf("t%x-%x-%d-", os.Getpid(), seed, run)
		return prefix, newTxnWorld(seed, prefix, p.ranges(), now).steps(*txnsStepsFlag)
	})
}
