package exactlyonce

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// kill kills a worker in a transaction; nobody follows by itself.
func (l *life) kill(s *slot) {
	l.t.Helper()
	l.inTransaction(s)
	l.killNow(s)
}

func (l *life) killNow(s *slot) {
	name := s.worker.name
	s.worker.kill()
	s.worker = nil
	l.kills++
	l.log(time.Now(), "%s is killed", name)
}

// crash kills the broker, and workers with it, in a transaction of the first
// that works, and starts the broker again.
func (l *life) crash(with ...*slot) {
	l.t.Helper()
	if i := slices.IndexFunc(l.slots(), func(s *slot) bool { return s.worker != nil }); i >= 0 {
		l.inTransaction(l.slots()[i])
	}
	killed := time.Now()
	if l.broker.Kill != nil {
		l.broker.Kill()
		l.crashes++
	}
	for _, s := range with {
		l.killNow(s)
	}
	l.pause(500 * time.Millisecond)
	if l.broker.Revive != nil {
		l.must(l.broker.Revive())
	}
	l.log(killed, "the broker is killed and back")
}

// freeze stops a worker as a machine may that is too busy, until the others have
// taken over, and has it go on in the middle of its transaction: before it has
// sent offsets, or after, when they keep the others waiting until the
// transaction is out of time.
func (l *life) freeze(s *slot, moment kind) {
	l.t.Helper()
	if moments := s.client().moments; slices.Contains(moments, moment) {
		l.hears(s, moment)
	} else {
		l.hears(s, moments...)
	}
	w := s.worker
	l.must(w.freeze())
	l.freezes++
	l.progress(w.name + " is frozen")
	l.must(w.thaw())
	l.works(s)
}

// still kills everything, and judges what is there while nobody works.
func (l *life) still() {
	l.t.Helper()
	l.crash(l.slots()...)
	for since := time.Now(); ; l.pause(200 * time.Millisecond) {
		e, open, err := l.evidence()
		l.must(err)
		wrongs := judge(e)
		waited := time.Since(since)
		switch {
		case len(wrongs) == 0:
			l.t.Logf("nobody works: %d outputs, %d records in open transactions", len(e.outputs), open)
			return
		case open == 0 && waited > 10*time.Second, waited > patience: // what is decided is not in all partitions at once
			l.t.Fatalf("nobody works: after %v, with %d records in open transactions: %s", waited, open, summary(l.explained(e)))
		}
	}
}

// evidence is what is there now. The inputs come last: they are those of at
// least all outputs.
func (l *life) evidence() (e evidence, open int, err error) {
	ctx, cancel := context.WithTimeout(l.t.Context(), patience)
	defer cancel()
	if e.offsets, err = l.offsets(l.a.job); err != nil {
		return e, 0, err
	}
	records, open, err := l.outputs.committed(ctx, partitions)
	if err != nil {
		return e, 0, err
	}
	e.outputs, err = parseAll(records, parseOutput)
	e.claims, e.inputs = l.seen.claimsOf(l.slots()...), l.source.written()
	return e, open, err
}

// finish has the rest handled, stops, and judges.
func (l *life) finish() (records int) {
	l.t.Helper()
	l.source.stop()
	l.progress("the end")
	l.leave(l.slots()...)
	l.inputsAreWhole()
	e, open, err := l.evidence()
	for end := time.Now().Add(2 * shortTransaction); err == nil && open > 0 && time.Now().Before(end); {
		l.pause(200 * time.Millisecond) // those of the dead are not out of time
		e, open, err = l.evidence()
	}
	l.must(err)
	if open > 0 {
		l.t.Errorf("%d records are in open transactions", open)
		l.holdsUp()
	}
	if !e.all() {
		l.t.Errorf("the group's offsets are %v, below the ends of the inputs", e.offsets)
	}
	if len(judge(e)) > 0 {
		l.t.Errorf("at the end: %s", summary(l.explained(e)))
	}
	l.downstreamAgrees(e)
	l.compareReaders()
	l.noneOpen()
	return len(e.outputs)
}

// leave has workers leave, as their users would.
func (l *life) leave(slots ...*slot) {
	l.t.Helper()
	for _, s := range slots {
		s.worker.leave()
	}
	for _, s := range slots {
		select {
		case <-s.worker.over:
		case <-time.After(patience):
			l.t.Fatalf("%s does not end: %s", s.worker.name, s.worker.said())
		}
		if s.worker.err != nil {
			l.t.Errorf("%s ended: %v: %s", s.worker.name, s.worker.err, s.worker.said())
		}
		s.worker = nil
	}
}

// compareReaders reads the outputs in four ways: by the markers in the log, by
// the aborted transactions that fetches tell of, by franz-go's consumer and by
// Kafka's. A last record of each partition shows that none of them sees more than
// another.
func (l *life) compareReaders() {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), 2*patience)
	defer cancel()
	l.must(l.source.seal(ctx))
	byMarkers, _, err := l.outputs.committed(ctx, partitions)
	l.must(err)
	visible, err := l.outputs.visible(ctx, partitions)
	l.must(err)
	l.same("fetches with read_committed", visible, byMarkers)
	count := 0
	for _, records := range byMarkers {
		count += len(records)
	}
	byFranz, err := franzVisible(ctx, l.broker.Addr, outputTopic, partitions, count)
	l.must(err)
	l.same("franz-go's consumer", byFranz, byMarkers)
	if l.tools == nil {
		return
	}
	seen, err := javaVisible(ctx, *l.tools, l.broker.Addr, outputTopic, partitions, count)
	l.must(err)
	l.same("Kafka's console consumer", seen, byMarkers)
}

func (l *life) same(who string, got, want []map[int64]string) {
	l.t.Helper()
	for p := range want {
		if !maps.Equal(got[p], want[p]) {
			l.t.Errorf("partition %d: %s sees %d records, %d are committed", p, who, len(got[p]), len(want[p]))
		}
	}
}

// noneOpen looks at the coordinator's transactions.
func (l *life) noneOpen() {
	l.t.Helper()
	all, err := l.admin.ListTransactions(l.t.Context(), nil, nil)
	l.must(err)
	for _, one := range all.Sorted() {
		if !isOver(one.State) {
			l.t.Errorf("transaction of %s, producer id %d: %s", one.TxnID, one.ProducerID, one.State)
		}
	}
}

func isOver(state string) bool {
	return slices.Contains([]string{"Empty", "CompleteCommit", "CompleteAbort"}, state)
}

func summary(wrongs []string) string {
	const most = 12
	text := strings.Join(wrongs[:min(most, len(wrongs))], "\n")
	if len(wrongs) > most {
		text += fmt.Sprintf("\n… %d in all", len(wrongs))
	}
	return text
}

// round is something of what happens to a group, chosen by chance.
func (l *life) round() {
	l.t.Helper()
	s := l.slots()[l.random.IntN(2)]
	switch l.random.IntN(6) {
	case 0:
		l.kill(s)
		l.start(s, longTransaction)
	case 1:
		l.crash()
	case 2:
		l.crash(s)
		l.start(s, longTransaction)
	case 3:
		l.freeze(s, []kind{began, ending}[l.random.IntN(2)])
	case 4: // one after the other, with hardly time to come up
		l.kill(s)
		l.crash()
		l.start(s, longTransaction)
		l.crash()
	case 5:
		l.still()
		l.start(l.a, longTransaction)
		l.start(l.b, longTransaction)
	}
	l.progress("a round")
}

// inputsAreWhole makes sure that the inputs are in the log as they were
// acknowledged, once each.
func (l *life) inputsAreWhole() {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), patience)
	defer cancel()
	there, _, err := l.inputs.committed(ctx, partitions)
	l.must(err)
	want := make([]map[int64]string, partitions)
	for p, offsets := range l.source.written() {
		want[p] = map[int64]string{}
		for number, offset := range offsets {
			want[p][offset] = fmt.Sprint(p, " ", number)
		}
	}
	l.same("the log of inputs", there, want)
}
