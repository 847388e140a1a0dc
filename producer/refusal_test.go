//go:build synctests

package producer

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Offsets that are refused are no end of the producer: also where AddOffsetsToTxn refuses them.
func TestErrorsOfAddOffsetsToTxn(t *testing.T) {
	for code, class := range map[*kerr.Error]Class{
		kerr.CoordinatorLoadInProgress:          0,
		kerr.ConcurrentTransactions:             0,
		kerr.GroupAuthorizationFailed:           AbortAndContinue,
		kerr.InvalidGroupID:                     AbortAndContinue,
		kerr.TransactionalIDAuthorizationFailed: Fatal,
	} {
		t.Run(code.Message, func(t *testing.T) {
			inBubble(t, nil, func(w *world) {
				w.topic("in", 1)
				p := w.transactional()
				defer func() { _ = p.Close(background) }()
				ok(w.t, p.Begin(background))
				ok(w.t, p.SendUnfencedOffsets(background, "g", offsets("in", 5)))
				answersOnce(w, 1, func(r *kmsg.AddOffsetsToTxnResponse) { r.ErrorCode = code.Code })
				err := p.Commit(background)
				is(w.t, err, class)
				if class == AbortAndContinue {
					ok(w.t, p.Abort(background))
					ok(w.t, p.Begin(background))
					ok(w.t, p.SendUnfencedOffsets(background, "g", offsets("in", 6)))
					ok(w.t, p.Commit(background))
					if got := w.committed("g", "in"); got != 6 {
						w.t.Errorf("the offset is %d", got)
					}
				}
			})
		})
	}
}

// What is too long is named, with what to do.
func TestOffsetsThatAreTooLong(t *testing.T) {
	inBoth(t, nil, func(w *world) {
		w.topic("in", 1)
		w.topic("out", 1)
		p := w.transactional()
		defer closes(w.t, p)
		ok(w.t, p.Begin(background))
		sends(w.t, p, "out", "x")
		long := offsets("in", 5)
		for tp, o := range long {
			o.Metadata = string(make([]byte, 5000))
			long[tp] = o
		}
		ok(w.t, p.SendUnfencedOffsets(background, "g", long))
		err := p.Commit(background)
		is(w.t, err, AbortAndContinue, kerr.OffsetMetadataTooLarge)
		says(w.t, err, "offset.metadata.max.bytes", "in-0", "abort")
		ok(w.t, p.Abort(background))
		ok(w.t, p.Begin(background))
		ok(w.t, p.SendUnfencedOffsets(background, "g", offsets("in", 5)))
		ok(w.t, p.Commit(background))
		if got := w.committed("g", "in"); got != 5 {
			w.t.Errorf("the offset is %d", got)
		}
	})
}
