package work

import (
	"testing"
	"time"
)

// TestATransactionIsOneInterval also shows that what comes within it goes into it, and that idle loops commit nothing.
func TestATransactionIsOneInterval(t *testing.T) {
	l := owns(t, Config{}, 2)
	l.sees(got(1, 0, 3), "process anew 3")
	l.sees(done(0, 3, 3), "poll")
	if l.last.Until != l.now.Add(100*time.Millisecond) {
		t.Errorf("it polls until %v", l.last.Until)
	}
	l.wait(40 * time.Millisecond)
	l.sees(got(1, 1, 2), "process 2")
	l.wait(60 * time.Millisecond)
	l.sees(done(1, 2, 2), "commit t-0=3 t-1=2")
	l.sees(committed(1), "poll after committed 5")
	l.wait(5 * time.Second)
	l.sees(Polled{Generation: 1}, "poll")
}

func TestEachBatchIsATransactionWithoutAnInterval(t *testing.T) {
	l := owns(t, Config{Interval: -1}, 1)
	l.sees(got(1, 0, 3), "process anew 3")
	l.sees(done(0, 3, 3), "commit t-0=3")
}

// TestTransactionsHaveABound: what is beyond it is processed in the next one.
func TestTransactionsHaveABound(t *testing.T) {
	l := owns(t, Config{Records: 4}, 1)
	l.sees(got(1, 0, 3), "process anew 3")
	l.sees(done(0, 3, 3), "poll")
	l.sees(got(1, 0, 3), "process 1")
	l.sees(done(0, 4, 1), "commit t-0=4")
	l.sees(committed(1), "process anew 2 after committed 4")
}

// TestProgressWithoutRecords: ends of transactions that were passed over, and where a partition begins, are committed when there is time, and
// with what else is.
func TestProgressWithoutRecords(t *testing.T) {
	l := owns(t, Config{}, 2)
	l.sees(Polled{Generation: 1, Passed: []Reached{at(0, 7)}}, "commit t-0=7")
	l.sees(committed(1), "poll after committed 0")
	l.sees(Polled{Generation: 1, Batches: []Batch{{tp(0), 1}}, Passed: []Reached{at(0, 8), at(1, 9)}}, "process anew 1")
	l.wait(time.Second)
	l.sees(done(0, 8, 1), "commit t-0=8 t-1=9")
}

// TestRevokedPartitionsAreCommittedFirst is R-F6: finish in Revoked. FR-H6: one that is not touched goes without an end of the transaction.
func TestRevokedPartitionsAreCommittedFirst(t *testing.T) {
	l := owns(t, Config{}, 3)
	l.processes(0, 0, 3)
	l.processes(1, 0, 2)
	l.sees(Revoked{Partitions: []Partition{tp(2)}, Generation: 2}, "release")
	l.sees(Revoked{Partitions: []Partition{tp(1)}, Generation: 2}, "commit t-0=3 t-1=2")
	l.sees(committed(2), "release after committed 5")
	l.sees(got(2, 0, 1), "process anew 1")
}

// TestWhatIsRevokedAndNotProcessedIsForgotten: the next owner reads it.
func TestWhatIsRevokedAndNotProcessedIsForgotten(t *testing.T) {
	l := owns(t, Config{Records: 2}, 2)
	l.sees(Polled{Generation: 1, Batches: []Batch{{tp(0), 2}, {tp(1), 5}}}, "process anew 2")
	l.sees(done(0, 2, 2), "commit t-0=2")
	l.sees(Committed{Outcome: GroupMoved, Used: 1, Generation: 1}, "poll nothing")
	l.sees(Revoked{Partitions: []Partition{tp(1)}, Generation: 2}, "release")
	l.sees(Polled{Generation: 2}, "commit t-0=2")
	l.sees(committed(2), "poll after committed 2")
}

// TestARevocationThatCannotBeCommitted: the partition goes all the same, and what was kept is done again.
func TestARevocationThatCannotBeCommitted(t *testing.T) {
	l := owns(t, Config{}, 2)
	l.processes(0, 0, 3)
	l.processes(1, 0, 2)
	l.sees(Revoked{Partitions: []Partition{tp(1)}, Generation: 2}, "commit t-0=3 t-1=2")
	l.sees(Committed{Outcome: Abortable, Used: 2, Generation: 2}, "abort")
	l.sees(Aborted{}, "rewind t-0 after aborted 5 (refused)")
	l.sees(Rewound{}, "release")
	l.sees(got(2, 0, 3), "process anew 3")
}

// TestARevocationWithoutAnAnswer is never committed afterwards: the producer is replaced, and the group says what has become of it.
func TestARevocationWithoutAnAnswer(t *testing.T) {
	l := owns(t, Config{}, 2)
	l.processes(0, 0, 3)
	l.processes(1, 0, 2)
	until := l.now.Add(time.Second)
	l.sees(Revoked{Partitions: []Partition{tp(1)}, Generation: 2, Until: until}, "commit t-0=3 t-1=2")
	if l.last.Until != until {
		t.Errorf("it has until %v, the group waits until %v", l.last.Until, until)
	}
	l.wait(time.Second)
	l.sees(Committed{Outcome: Again, Used: 2, Generation: 2}, "rewind t-0 after unknown 5 (refused)")
	l.sees(Rewound{}, "release")
	l.sees(Polled{Generation: 2}, "renew")
	l.sees(Renewed{}, "poll")
}

// TestLostPartitionsAreNeverCommitted is R-F6: only abort in Lost. FR-D10: not the other way round.
func TestLostPartitionsAreNeverCommitted(t *testing.T) {
	l := owns(t, Config{}, 2)
	l.processes(0, 0, 3)
	l.processes(1, 0, 2)
	l.sees(Gone{Partitions: []Partition{tp(0), tp(1)}}, "abort")
	l.sees(Aborted{}, "release after aborted 5 (lost)")
	l.sees(Polled{Generation: 2}, "poll")
}

func TestLostPartitionsThatWereNotTouched(t *testing.T) {
	l := owns(t, Config{}, 2)
	l.processes(0, 0, 3)
	l.sees(Gone{Partitions: []Partition{tp(1)}}, "release")
	l.wait(time.Second)
	l.sees(Polled{Generation: 1}, "commit t-0=3")
}

// TestOwnershipIsLookedAtBeforeACommit: what is not owned any more is not sent.
func TestOwnershipIsLookedAtBeforeACommit(t *testing.T) {
	l := owns(t, Config{Interval: -1}, 1)
	l.sees(got(1, 0, 3), "process anew 3")
	l.sees(done(0, 3, 3), "commit t-0=3")
	l.sees(Committed{Outcome: NotOwned, Used: 1, Generation: 1}, "abort")
	l.sees(Aborted{}, "rewind t-0 after aborted 3 (lost)")
	l.sees(Rewound{}, "poll")
}

// TestAGenerationThatChangesUnderATransaction is R-F7: it is committed in the new one.
func TestAGenerationThatChangesUnderATransaction(t *testing.T) {
	l := owns(t, Config{Interval: -1}, 2)
	l.sees(got(1, 0, 3), "process anew 3")
	l.sees(done(0, 3, 3), "commit t-0=3")
	l.sees(Committed{Outcome: GroupMoved, Used: 1, Generation: 1}, "poll nothing")
	l.sees(Polled{Generation: 1}, "poll nothing")
	l.sees(Assigned{Generation: 2}, "release")
	l.sees(Polled{Generation: 2}, "commit t-0=3")
	l.sees(committed(2), "poll after committed 3")
}

// TestAGenerationThatHasChangedAlready: nothing has to be waited for.
func TestAGenerationThatHasChangedAlready(t *testing.T) {
	l := owns(t, Config{Interval: -1}, 1)
	l.sees(got(1, 0, 3), "process anew 3")
	l.sees(done(0, 3, 3), "commit t-0=3")
	l.sees(Committed{Outcome: GroupMoved, Used: 1, Generation: 2}, "commit t-0=3")
}

// TestAGroupThatMovesAndSaysNothing: the transaction does not wait for longer than the broker would let it.
func TestAGroupThatMovesAndSaysNothing(t *testing.T) {
	l := owns(t, Config{Interval: -1}, 1)
	l.sees(got(1, 0, 3), "process anew 3")
	l.sees(done(0, 3, 3), "commit t-0=3")
	l.sees(Committed{Outcome: GroupMoved, Used: 1, Generation: 1}, "poll nothing")
	l.now = l.last.Until
	l.sees(Polled{Generation: 1}, "abort")
	l.sees(Aborted{}, "rewind t-0 after aborted 3 (moved)")
}

// TestARevocationInTheNewGeneration ends a wait: the partition is this member's until the callback returns, in that generation.
func TestARevocationInTheNewGeneration(t *testing.T) {
	l := owns(t, Config{Interval: -1}, 2)
	l.sees(got(1, 0, 3), "process anew 3")
	l.sees(done(0, 3, 3), "commit t-0=3")
	l.sees(Committed{Outcome: GroupMoved, Used: 1, Generation: 1}, "poll nothing")
	l.sees(Revoked{Partitions: []Partition{tp(0)}, Generation: 2}, "commit t-0=3")
	l.sees(Committed{Outcome: GroupMoved, Used: 2, Generation: 2}, "abort")
	l.sees(Aborted{}, "release after aborted 3 (moved)")
}

// TestACommitWithoutAnAnswerIsAskedForAgain is R-F1: the same call, until it is known, or the broker has decided by itself.
func TestACommitWithoutAnAnswerIsAskedForAgain(t *testing.T) {
	l := owns(t, Config{Interval: -1}, 1)
	l.sees(got(1, 0, 3), "process anew 3")
	l.sees(done(0, 3, 3), "commit t-0=3")
	l.sees(Committed{Outcome: Again, Used: 1, Generation: 1}, "poll nothing")
	l.sees(Polled{Generation: 1, Passed: []Reached{at(0, 9)}}, "poll nothing")
	l.now = l.last.Until
	l.sees(Polled{Generation: 1}, "commit t-0=3")
	l.wait(11 * time.Second)
	l.sees(Committed{Outcome: Again, Used: 1, Generation: 1}, "renew after unknown 3 (refused)")
	l.sees(Renewed{Outcome: Fatal}, "poll nothing")
	l.now = l.last.Until
	l.sees(Polled{Generation: 1}, "renew")
	l.sees(Renewed{}, "rewind t-0")
	l.sees(Rewound{}, "poll")
}

// TestAFencedProducerIsReplaced is R-F6: close, recreate; and FR-H20: the records are processed again.
func TestAFencedProducerIsReplaced(t *testing.T) {
	l := owns(t, Config{Interval: -1}, 1)
	l.sees(got(1, 0, 3), "process anew 3")
	l.sees(done(0, 3, 3), "commit t-0=3")
	l.sees(Committed{Outcome: Fatal, Used: 1, Generation: 1}, "renew after aborted 3 (refused)")
	l.sees(Renewed{}, "rewind t-0")
	l.sees(Rewound{}, "poll")
}

// TestAnAbortThatFails: another producer ends what is open.
func TestAnAbortThatFails(t *testing.T) {
	l := owns(t, Config{Interval: -1}, 1)
	l.sees(got(1, 0, 3), "process anew 3")
	l.sees(Processed{Outcome: Abortable}, "abort")
	l.sees(Aborted{Outcome: Again}, "poll nothing")
	l.now = l.last.Until
	l.sees(Polled{Generation: 1}, "abort")
	l.sees(Aborted{Outcome: Fatal}, "renew after aborted 0 (refused)")
}

// TestTransactionsThatAreRefusedAgainAreTriedLaterAndLater: nothing spins.
func TestTransactionsThatAreRefusedAgainAreTriedLaterAndLater(t *testing.T) {
	l := owns(t, Config{Interval: -1}, 1)
	for _, pause := range []time.Duration{0, 100, 200, 400} {
		l.sees(got(1, 0, 1), "process anew 1")
		l.sees(Processed{Outcome: Abortable}, "abort")
		l.sees(Aborted{}, "rewind t-0 after aborted 0 (refused)")
		began := l.now
		if pause == 0 {
			l.sees(Rewound{}, "poll")
			continue
		}
		l.sees(Rewound{}, "poll nothing")
		if l.now = l.last.Until; l.now.Sub(began) != pause*time.Millisecond {
			t.Errorf("a pause of %v, want %v ms", l.now.Sub(began), int64(pause))
		}
		l.sees(Polled{Generation: 1}, "poll")
	}
}

// TestACommitThatIsUndecidedIsNotAborted: it may have been carried out. Only the producer's successor ends it, and the group's offsets tell.
func TestACommitThatIsUndecidedIsNotAborted(t *testing.T) {
	for name, then := range map[string]func(l *life){
		"not owned": func(l *life) {
			l.wait(time.Second)
			l.sees(Polled{Generation: 1}, "commit t-0=3")
			l.sees(Committed{Outcome: NotOwned, Used: 1, Generation: 1}, "renew after unknown 3 (lost)")
		},
		"lost": func(l *life) {
			l.sees(Gone{Partitions: []Partition{tp(0)}}, "release after unknown 3 (lost)")
			l.sees(Polled{Generation: 1}, "renew")
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := owns(t, Config{Interval: -1}, 1)
			l.processes(0, 0, 3)
			l.sees(Committed{Outcome: Again, Used: 1, Generation: 1}, "poll nothing")
			then(l)
		})
	}
}

// TestACommitThatIsRefused is aborted, even one without records: the producer has begun a transaction for it.
func TestACommitThatIsRefused(t *testing.T) {
	l := owns(t, Config{}, 1)
	l.sees(Polled{Generation: 1, Passed: []Reached{at(0, 5)}}, "commit t-0=5")
	l.sees(Committed{Outcome: Abortable, Used: 1, Generation: 1}, "abort")
	l.sees(Aborted{}, "rewind t-0")
	l.sees(Rewound{}, "poll")
}
