package upgrade

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/skeinstream/skein/interop/internal/member"
	"github.com/skeinstream/skein/interop/internal/report"
)

// finish has the rest handled, stops everybody, and judges the whole of it.
func (l *life) finish() {
	l.t.Helper()
	l.phase("end")
	l.quitProducing()
	l.must(l.seen.Await(l.t.Context(), "all is handled", func() bool { return l.seen.Beyond(l.ends) }))
	l.stopAll()
	ctx, cancel := context.WithTimeout(l.t.Context(), member.Patience)
	defer cancel()
	l.must(l.w.log.catchUp(ctx))
	l.offsetsAreTheEnds(ctx)
	v := judge(l.history())
	for _, wrong := range v.wrongs[:min(20, len(v.wrongs))] {
		l.t.Error(wrong)
	}
	if len(v.wrongs) > 0 {
		l.t.Errorf("%+v", v.counts)
	}
	l.report(v)
}

func (l *life) stopAll() {
	l.t.Helper()
	var stops sync.WaitGroup
	failed := make([]error, len(l.slots))
	for i, s := range l.slots {
		if s.process != nil {
			stops.Go(func() { failed[i] = s.process.Stop(l.t.Context()) })
		}
	}
	stops.Wait()
	for _, err := range failed {
		l.must(err)
	}
}

func (l *life) history() history {
	w := l.w.log.read(l.name)
	return history{events: l.seen.All(), commits: w.commits, generations: w.generations, phases: l.phases, ends: l.ends}
}

// offsetsAreTheEnds: what the broker answers is what is written in its log.
func (l *life) offsetsAreTheEnds(ctx context.Context) {
	l.t.Helper()
	answer, err := l.w.log.admin.FetchOffsets(ctx, l.name)
	if err == nil {
		err = answer.Error()
	}
	l.must(err)
	written := map[int32]int64{}
	for _, c := range l.w.log.read(l.name).commits {
		written[c.partition] = c.offset
	}
	answer.Each(func(o kadm.OffsetResponse) {
		if o.At != l.ends[o.Partition] || written[o.Partition] != o.At {
			l.t.Errorf("partition %d ends at %d; the group's offset is %d, in the log %d", o.Partition, l.ends[o.Partition], o.At, written[o.Partition])
		}
	})
}

// report prints the figures of each phase.
func (l *life) report(v verdict) {
	l.t.Helper()
	records := 0
	for _, end := range l.ends {
		records += int(end)
	}
	var lines []string
	for _, f := range v.phases[:max(0, len(v.phases)-1)] {
		lines = append(lines, fmt.Sprintf("%-60s %v", f.name, f))
	}
	l.t.Logf("%s on %s, %d records, in %v: %v\n%s", l.name, l.w.broker.Name, records, time.Since(l.began).Round(100*time.Millisecond), v.counts, strings.Join(lines, "\n"))
	if l.t.Failed() {
		return
	}
	report.Note(l.t, report.Shown, fmt.Sprintf("upgrade %s on %s", l.name, l.w.broker.Name),
		"%d records, no overlap, no duplicate, no loss, no offset back, %d generations; %s", records, v.generations(), v.worst())
}

func (c counts) String() string {
	return fmt.Sprintf("overlaps %d, duplicates %d, lost %d, regressions %d, expelled %d, slow %d", c.overlaps, c.duplicates, c.lost, c.regressions, c.expelled, c.slow)
}

// String is how long partitions had no owner, a stop at the median and at most, a
// partition in all at most; how many records were handled again after a death;
// the generations, and how many at most followed a change of members.
func (f figures) String() string {
	return fmt.Sprintf("%3d stops, median %s, longest %s, a partition at most %s; %d again; %d generations, %d after a change; %s",
		len(f.stops), ms(median(f.stops)), ms(longest(f.stops)), ms(f.worst()), f.reread, f.generations, f.followed, strings.Join(f.protocols, ", "))
}

func ms(us int64) string { return fmt.Sprintf("%d ms", us/1000) }

func median(all []int64) int64 {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}

func longest(all []int64) int64 {
	if len(all) == 0 {
		return 0
	}
	return slices.Max(all)
}

// worst is the longest that a partition was stopped in all.
func (f figures) worst() (worst int64) {
	for _, stopped := range f.stopped {
		worst = max(worst, stopped)
	}
	return worst
}

func (v verdict) generations() (n int) {
	for _, f := range v.phases {
		n += f.generations
	}
	return n
}

// worst tells of the phase with the longest stop of a partition.
func (v verdict) worst() string {
	f := slices.MaxFunc(v.phases, func(a, b figures) int { return cmp.Compare(a.worst(), b.worst()) })
	return fmt.Sprintf("a partition stopped at most %s, in %q", ms(f.worst()), f.name)
}

// tell is the whole life, a line an event.
func (l *life) tell() string {
	h := l.history()
	type moment struct {
		at   int64
		text string
	}
	var all []moment
	for _, e := range h.events {
		if e.Kind != member.Handled || len(h.events) < 2000 {
			all = append(all, moment{e.At, e.String()})
		}
	}
	for _, p := range h.phases {
		all = append(all, moment{p.at, "== " + p.name})
	}
	for _, g := range h.generations {
		all = append(all, moment{g.at, fmt.Sprintf("%d.%06d generation %d %s, leader %s: %v", g.at/1e6%1e4, g.at%1e6, g.number, g.protocol, g.leader, g.members)})
	}
	slices.SortStableFunc(all, func(a, b moment) int { return cmp.Compare(a.at, b.at) })
	var b strings.Builder
	for _, m := range all {
		fmt.Fprintln(&b, m.text)
	}
	return b.String()
}
