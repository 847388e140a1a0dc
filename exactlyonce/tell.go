package exactlyonce

import (
	"context"
	"log/slog"
	"time"

	"github.com/skeinstream/skein/internal/work"
)

// tell tells the user of the end of a transaction.
func (l *loop) tell(e *work.Ended) {
	sent, _ := l.tx.result()
	t := Transaction{Records: e.Records, Sent: sent, Offsets: offsetsOf(e.Offsets)}
	if !e.Since.IsZero() {
		t.Took = time.Since(e.Since)
	}
	l.p.figures.change(func(s *Stats) { l.count(s, e, t) })
	hooks := l.p.cfg.Hooks
	switch e.End {
	case work.IsCommitted:
		l.forget(e.Offsets)
		hooks.committed(t)
	case work.IsAborted:
		l.log(e, "a transaction was aborted: its records are processed again")
		hooks.aborted(t, e.Reason, e.Err)
	case work.IsUnknown:
		l.log(e, "nobody has said whether a transaction was committed: the group's offsets do")
		hooks.unknown(t, e.Reason, e.Err)
	}
	l.tx, l.lettered = new(written), 0
}

func (l *loop) count(s *Stats, e *work.Ended, t Transaction) {
	switch e.End {
	case work.IsAborted:
		s.Aborted[e.Reason]++
		s.RecordsUndone += int64(t.Records)
		return
	case work.IsUnknown:
		s.Unknown++
		s.RecordsUndone += int64(t.Records)
		return
	}
	s.Committed++
	s.RecordsIn += int64(t.Records)
	s.RecordsOut += int64(t.Sent)
	s.DeadLetters += int64(l.lettered)
	s.Commit.add(l.took)
	s.LastCommit = time.Now()
	if t.Records > 0 {
		s.Took.add(t.Took)
		s.LastRecord = s.LastCommit
	}
}

// forget forgets records that will not come again.
func (l *loop) forget(committed []work.Reached) {
	for at := range l.why {
		for _, r := range committed {
			if at.Partition == r.Partition && at.At < r.At {
				delete(l.why, at)
			}
		}
	}
}

// log says why, where that is not what Run returns, or what somebody wanted.
func (l *loop) log(e *work.Ended, msg string) {
	level := slog.LevelWarn
	switch e.Reason {
	case work.Failed:
		return
	case work.Lost, work.Moved, work.Halted:
		level = slog.LevelInfo
	}
	l.p.log.Log(context.Background(), level, msg, "group", l.p.cfg.Consumer.Group, "reason", e.Reason, "records", e.Records, "error", e.Err)
}
