package parallel

import (
	"context"
	"errors"
	"time"

	"github.com/skeinstream/skein/consumer"
)

// commitReserve is how much of the group's patience is kept for the commit, at most a quarter of what there is.
const commitReserve = 5 * time.Second

// ErrTooLong is the cause of a context that ends since the work on a partition took longer than the group waits.
var ErrTooLong = errors.New("the group does not wait any longer for the work on this partition")

// revoked gives partitions up in peace: what was begun is finished, what is done is committed, and nobody works on them after.
func (w *Work) revoked(ctx context.Context, r consumer.Rebalance) error {
	if len(r.Partitions) > 0 {
		w.crew.shorten(r.Partitions)
		w.finish(ctx, r.Partitions)
		if err := w.commit(ctx, r.Partitions); err != nil {
			w.log.Warn("partitions are given up without a commit: their next owner works on some records again", "partitions", r.Partitions, "error", err)
		}
		w.forget(r.Partitions)
	}
	if w.next.Revoked == nil {
		return nil
	}
	return w.next.Revoked(ctx, r)
}

// finish waits for the work on partitions, and ends it when the group does not wait for that.
func (w *Work) finish(ctx context.Context, list []consumer.TopicPartition) {
	err := w.drainInTime(ctx, list)
	if err == nil {
		return
	}
	w.log.Warn("partitions are given up while records are being worked on: their next owner works on these again", "partitions", list, "error", err)
	w.crew.abort(list, ErrTooLong)
	_ = w.drainInTime(ctx, list) // for as long as it takes to notice
}

func (w *Work) drainInTime(ctx context.Context, list []consumer.TopicPartition) error {
	if at, bounded := ctx.Deadline(); bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, at.Add(-min(commitReserve, time.Until(at)/4)))
		defer cancel()
	}
	return w.Drain(ctx, list...)
}

// lost: the partitions may be another's already. Nothing is committed. Whoever works on them was told by its context; the user is told once
// they have ended.
func (w *Work) lost(ctx context.Context, r consumer.Rebalance) error {
	w.crew.abort(r.Partitions, consumer.ErrExpelled)
	if err := w.drainInTime(ctx, r.Partitions); err != nil {
		w.log.Warn("partitions are lost while records are being worked on", "partitions", r.Partitions, "error", err)
	}
	w.forget(r.Partitions)
	tell := w.next.Lost
	if tell == nil {
		tell = w.next.Revoked
	}
	if tell == nil {
		return nil
	}
	return tell(ctx, r)
}

func (w *Work) forget(list []consumer.TopicPartition) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.crew.dismiss(list)
	for _, p := range list {
		delete(w.partitions, p)
	}
	w.wake()
}
