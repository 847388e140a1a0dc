package txnwire

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/skeinstream/skein/cli/internal/txns"
)

// Search is how partitions are looked through.
type Search struct {
	Now func() time.Time
	// Say is told what is being done, in words.
	Say func(stage string)
	// Pause is how long who seems to hang is left alone before the second look: a coordinator may be moving, and for a moment
	// nobody has its transactional ids.
	Pause time.Duration
}

// Find tells what becomes of the transactions that are open in partitions.
func (c Client) Find(ctx context.Context, places []txns.Place, s Search) ([]txns.Finding, error) {
	held, ends, err := c.held(ctx, places, s)
	if err != nil || len(held) == 0 {
		return nil, err
	}
	s.Say(fmt.Sprintf("asking %d partitions for their producers", len(held)))
	seen, err := c.open(ctx, held)
	if err != nil {
		return nil, err
	}
	found, err := c.Judge(ctx, seen, s)
	if err != nil {
		return nil, err
	}
	for i := range found {
		found[i].Measure(ends[found[i].Place])
	}
	c.date(ctx, found, s)
	return found, ctx.Err()
}

// date finds out since when transactions hang, whose beginning no coordinator knows.
func (c Client) date(ctx context.Context, found []txns.Finding, s Search) {
	if len(hanging(found)) == 0 {
		return
	}
	s.Say("reading when they began")
	within, cancel := c.Within(ctx)
	defer cancel()
	topics, err := c.Admin.ListTopicsWithInternal(within)
	if err != nil {
		return
	}
	for i := range found {
		f := &found[i]
		if f.Verdict != txns.Hanging {
			continue
		}
		if since := c.since(ctx, topics[f.Topic], f.Place, *f.StartOffset); !since.IsZero() {
			f.Begun(since, s.Now())
		}
	}
}

// held finds the partitions in which a transaction is open: their last stable offset is before their end. That is a question
// without a long answer, as the one for producers has.
func (c Client) held(ctx context.Context, places []txns.Place, s Search) (held []txns.Place, all map[txns.Place]txns.Ends, err error) {
	all = map[txns.Place]txns.Ends{}
	looked := 0
	for some := range slices.Chunk(places, batch) {
		s.Say(fmt.Sprintf("looked at %d of %d partitions", looked, len(places)))
		ends, err := c.Ends(ctx, some)
		if err != nil {
			return nil, nil, err
		}
		for _, p := range some {
			if e := ends[p]; e.Held() {
				held, all[p] = append(held, p), e
			}
		}
		looked += len(some)
	}
	return held, all, nil
}

// open lists the transactions that are open in partitions.
func (c Client) open(ctx context.Context, places []txns.Place) ([]txns.Producer, error) {
	list, err := c.Producers(ctx, places)
	return slices.DeleteFunc(list, func(p txns.Producer) bool { return !p.InTransaction() }), err
}

// Judge tells what becomes of open transactions. Who seems to hang is looked at twice.
func (c Client) Judge(ctx context.Context, seen []txns.Producer, s Search) ([]txns.Finding, error) {
	found, err := c.judge(ctx, seen, s)
	suspects := hanging(found)
	if err != nil || len(suspects) == 0 {
		return found, err
	}
	s.Say(fmt.Sprintf("looking again at %d that seem to hang", len(suspects)))
	select {
	case <-time.After(s.Pause):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	again, err := c.judge(ctx, suspects, s)
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(f txns.Finding) bool { return f.Verdict == txns.Hanging })
	found = append(found, again...)
	txns.Sort(found)
	return found, nil
}

func hanging(found []txns.Finding) (list []txns.Producer) {
	for _, f := range found {
		if f.Verdict == txns.Hanging {
			list = append(list, f.Producer)
		}
	}
	return list
}

func (c Client) judge(ctx context.Context, seen []txns.Producer, s Search) ([]txns.Finding, error) {
	if len(seen) == 0 {
		return nil, nil
	}
	s.Say(fmt.Sprintf("asking the coordinators about %d open transactions", len(seen)))
	known, err := c.known(ctx, seen, s.Now())
	if err != nil {
		return nil, err
	}
	again, err := c.open(ctx, placesOf(seen))
	if err != nil {
		return nil, err
	}
	return txns.Judge(seen, known, again, s.Now()), nil
}

// known is what the coordinators say of producers. Every one must answer.
func (c Client) known(ctx context.Context, seen []txns.Producer, now time.Time) ([]txns.Transaction, error) {
	var producers []int64
	for _, p := range seen {
		producers = append(producers, p.ProducerID)
	}
	slices.Sort(producers)
	listed, err := c.List(ctx, txns.Filter{Producers: slices.Compact(producers)})
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, l := range listed {
		ids = append(ids, l.ID)
	}
	return c.Describe(ctx, ids, now)
}

// placesOf lists the partitions of producers, which are in order.
func placesOf(seen []txns.Producer) []txns.Place {
	var places []txns.Place
	for _, p := range seen {
		if n := len(places); n == 0 || places[n-1] != p.Place {
			places = append(places, p.Place)
		}
	}
	return places
}
