package work

import (
	"testing"
	"time"
)

// TestAPoisonRecordEndsTheLoop is what happens without a policy.
func TestAPoisonRecordEndsTheLoop(t *testing.T) {
	l := owns(t, Config{}, 1)
	l.sees(got(1, 0, 3), "process anew 3")
	l.sees(Processed{Outcome: Poison, Marks: []Mark{{tp(0), 1}}, Err: errTest}, "abort")
	l.sees(Aborted{}, "stop for trouble after aborted 0 (poisoned)")
}

// TestAPoisonRecordIsTriedAgainAndThenPassedOver: with pauses that grow, and without one when it is passed over.
func TestAPoisonRecordIsTriedAgainAndThenPassedOver(t *testing.T) {
	l := owns(t, Config{Retries: 2, Skip: true, Backoff: time.Second}, 1)
	poison := Processed{Outcome: Poison, Marks: []Mark{{tp(0), 1}}, Err: errTest}
	for _, pause := range []time.Duration{time.Second, 2 * time.Second} {
		l.sees(got(1, 0, 3), "process anew 3")
		l.sees(poison, "abort")
		l.sees(Aborted{}, "rewind t-0 after aborted 0 (poisoned)")
		l.sees(Rewound{}, "poll nothing")
		if l.last.Until != l.now.Add(pause) {
			t.Errorf("it waits for %v, want %v", l.last.Until.Sub(l.now), pause)
		}
		l.now = l.last.Until
		l.sees(Polled{Generation: 1}, "poll")
	}
	l.sees(got(1, 0, 3), "process anew 3")
	l.sees(poison, "abort")
	l.sees(Aborted{}, "rewind t-0 after aborted 0 (poisoned)")
	l.sees(Rewound{}, "poll")
	l.sees(got(1, 0, 3), "process anew 3 but [t-0 at offset 1]")
	l.wait(time.Second)
	l.sees(done(0, 3, 3), "commit t-0=3")
	l.sees(committed(1), "poll after committed 3")
	l.sees(got(1, 0, 1), "process anew 1")
}

// TestARecordThatIsNotInTheBatch cannot be passed over: it would be aborted for ever.
func TestARecordThatIsNotInTheBatch(t *testing.T) {
	l := owns(t, Config{Skip: true}, 1)
	poison := Processed{Outcome: Poison, Marks: []Mark{{tp(5), 1}}, Err: errTest}
	l.sees(got(1, 0, 3), "process anew 3")
	l.sees(poison, "abort")
	l.sees(Aborted{}, "rewind t-0 after aborted 0 (poisoned)")
	l.sees(Rewound{}, "poll")
	l.sees(got(1, 0, 3), "process anew 3 but [t-5 at offset 1]")
	l.sees(poison, "abort")
	l.sees(Aborted{}, "stop for trouble after aborted 0 (poisoned)")
}

// TestMarksGoWithTheirPartition: the next owner finds out by itself, and so does this member if it comes back.
func TestMarksGoWithTheirPartition(t *testing.T) {
	l := owns(t, Config{Skip: true}, 2)
	l.sees(got(1, 0, 3), "process anew 3")
	l.sees(Processed{Outcome: Poison, Marks: []Mark{{tp(0), 1}}}, "abort")
	l.sees(Aborted{}, "rewind t-0 after aborted 0 (poisoned)")
	l.sees(Rewound{}, "poll")
	l.sees(Revoked{Partitions: []Partition{tp(0)}, Generation: 2}, "release")
	l.sees(Assigned{Partitions: []Partition{tp(0)}, Generation: 3}, "release")
	l.sees(got(3, 0, 3), "process anew 3")
}

// TestLateTransactionsBecomeSmaller, until one record is too much, and grow again when they are quick.
func TestLateTransactionsBecomeSmaller(t *testing.T) {
	l := owns(t, Config{}, 1)
	for _, words := range []string{"process anew 4", "process anew 2"} {
		l.sees(got(1, 0, 4), words)
		l.sees(Processed{Outcome: Late}, "abort")
		l.sees(Aborted{}, "rewind t-0 after aborted 0 (too-long)")
		l.sees(Rewound{}, "poll")
	}
	l.sees(got(1, 0, 4), "process anew 1")
	l.sees(done(0, 1, 1), "commit t-0=1")
	l.sees(committed(1), "process anew 2 after committed 1")
	l.sees(done(0, 3, 2), "commit t-0=3")
	l.wait(9 * time.Second)
	l.sees(committed(1), "process anew 1 after committed 2")
	l.sees(done(0, 4, 1), "poll")
}

// TestOneRecordThatIsTooLate is tried some times: what holds it up may pass.
func TestOneRecordThatIsTooLate(t *testing.T) {
	l := owns(t, Config{}, 1)
	for range latesMax - 1 {
		l.sees(got(1, 0, 1), "process anew 1")
		l.sees(Processed{Outcome: Late, Err: errTest}, "abort")
		l.sees(Aborted{}, "rewind t-0 after aborted 0 (too-long)")
		l.sees(Rewound{}, "poll")
	}
	l.sees(got(1, 0, 1), "process anew 1")
	l.sees(Processed{Outcome: Late, Err: errTest}, "abort")
	l.sees(Aborted{}, "stop for trouble after aborted 0 (too-long)")
}

// TestAPeacefulEnd commits what was processed, and not what was only polled.
func TestAPeacefulEnd(t *testing.T) {
	l := owns(t, Config{Records: 3}, 1)
	l.sees(got(1, 0, 2), "process anew 2")
	l.m.Step(l.now, Quit{Until: l.now.Add(time.Minute)})
	l.sees(done(0, 2, 2), "commit t-0=2")
	l.sees(committed(1), "stop after committed 2")
	l.sees(Revoked{Partitions: []Partition{tp(0)}, Generation: 1}, "release")
}

// TestAnEndInARebalance waits for it, but not for longer than it may.
func TestAnEndInARebalance(t *testing.T) {
	for _, moves := range []bool{true, false} {
		l := owns(t, Config{Interval: -1}, 1)
		l.sees(got(1, 0, 2), "process anew 2")
		l.m.Step(l.now, Quit{Until: l.now.Add(time.Second)})
		l.sees(done(0, 2, 2), "commit t-0=2")
		l.sees(Committed{Outcome: GroupMoved, Used: 1, Generation: 1}, "poll nothing")
		if moves {
			l.sees(Polled{Generation: 2}, "commit t-0=2")
			l.sees(committed(2), "stop after committed 2")
			continue
		}
		if l.now = l.last.Until; l.now.Sub(time.Unix(1000, 0)) != time.Second {
			t.Errorf("it waits until %v", l.now)
		}
		l.sees(Polled{Generation: 1}, "abort")
		l.sees(Aborted{}, "stop after aborted 2 (halted)")
	}
}

// TestAnEndWithoutAnAnswer leaves it unknown.
func TestAnEndWithoutAnAnswer(t *testing.T) {
	l := owns(t, Config{Interval: -1}, 1)
	l.sees(got(1, 0, 2), "process anew 2")
	l.m.Step(l.now, Quit{Until: l.now.Add(time.Second)})
	l.sees(done(0, 2, 2), "commit t-0=2")
	l.wait(time.Second)
	l.sees(Committed{Outcome: Again, Used: 1, Generation: 1}, "stop after unknown 2 (halted)")
}

// TestAnEndThatAborts does not take where the consumer is for what is done: it has not gone back.
func TestAnEndThatAborts(t *testing.T) {
	l := owns(t, Config{}, 1)
	l.sees(got(1, 0, 3), "process anew 3")
	l.m.Step(l.now, Quit{Until: l.now.Add(time.Second)})
	l.sees(Processed{Outcome: BrokenOff}, "abort")
	l.sees(Aborted{}, "stop after aborted 0 (halted)")
	l.sees(Revoked{Partitions: []Partition{tp(0)}, Passed: []Reached{at(0, 3)}, Generation: 1}, "rewind t-0")
	l.sees(Rewound{}, "release")
}

// TestAnErrorOfPollEndsTheLoop after what was processed is committed.
func TestAnErrorOfPollEndsTheLoop(t *testing.T) {
	l := owns(t, Config{}, 1)
	l.processes(0, 0, 2)
	l.sees(Polled{Generation: 1, Err: errTest}, "commit t-0=2")
	l.sees(committed(1), "stop for trouble after committed 2")
}

// TestAnErrorOfTheFunctionEndsTheLoop, and nothing of that transaction is committed.
func TestAnErrorOfTheFunctionEndsTheLoop(t *testing.T) {
	l := owns(t, Config{}, 1)
	l.processes(0, 0, 2)
	l.sees(got(1, 0, 3), "process 3")
	l.sees(Processed{Outcome: Hopeless, Err: errTest}, "abort")
	l.sees(Aborted{}, "stop for trouble after aborted 2 (failed)")
}

// TestABrokerThatWillNeverDoEndsTheLoop before anything is polled.
func TestABrokerThatWillNeverDoEndsTheLoop(t *testing.T) {
	l := &life{t: t, m: New(Config{}), now: time.Unix(1000, 0)}
	l.sees(Begun{}, "renew")
	l.sees(Renewed{Outcome: Hopeless, Err: errTest}, "stop for trouble")
}

// TestAProducerTakesItsTimeToBeMade, which is not that of a transaction, and a call that wants an end is heard in between.
func TestAProducerTakesItsTimeToBeMade(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		want time.Duration
	}{{Config{Timeout: time.Second}, time.Minute}, {Config{Renew: 3 * time.Second}, 3 * time.Second}} {
		l := &life{t: t, m: New(c.cfg), now: time.Unix(1000, 0)}
		l.sees(Begun{}, "renew")
		if got := l.last.Until.Sub(l.now); got != c.want {
			t.Errorf("it may take %v, not %v", got, c.want)
		}
		l.m.Step(l.now, Quit{Until: l.now.Add(time.Second)})
		l.sees(Renewed{Outcome: Again, Err: errTest}, "stop")
	}
}

// TestATransactionInPart, of producers for each partition, is neither committed nor aborted.
func TestATransactionInPart(t *testing.T) {
	l := owns(t, Config{Interval: -1}, 1)
	l.sees(got(1, 0, 2), "process anew 2")
	l.sees(done(0, 2, 2), "commit t-0=2")
	l.sees(Committed{Outcome: Abortable, Used: 1, Generation: 1}, "abort")
	l.sees(Aborted{Partly: true}, "rewind t-0 after unknown 2 (refused)")
}

func TestAnswersThatNobodyHasAskedFor(t *testing.T) {
	l := owns(t, Config{}, 1)
	defer func() {
		if recover() == nil {
			t.Error("an answer that nobody has asked for was taken")
		}
	}()
	l.m.Step(l.now, Committed{})
}
