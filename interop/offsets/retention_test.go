package offsets

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/internal/scripts"
	"github.com/skeinstream/skein/interop/internal/admin"
	"github.com/skeinstream/skein/interop/internal/report"
	"github.com/skeinstream/skein/interop/internal/skein"
	"github.com/skeinstream/skein/interop/internal/target"
	"github.com/skeinstream/skein/interop/internal/wire"
	"github.com/skeinstream/skein/interop/kafka"
)

// expiring are commands with the seconds at which they are sent, and what is answered from then on: what is to go may take a
// while. The retention is a minute, the least that there is. The group "empty" has lost its member, "live" has one that
// subscribes to t, "simple" never had any.
func expiring(t *testing.T) []timed {
	script := `
0   join empty a topics=t
0   sync empty a
0   commit empty as=a gen=1 t/0=1
0   leave empty a
0   join live b topics=t
0   sync live b
0   commit live as=b gen=1 t/0=1 u/0=1
0   commit live as=b gen=1 v=4 keep=2000 t/1=1 u/1=1
0   commit simple t/1=1
0   commit simple v=4 keep=2000 t/0=1
0   commit simple v=4 keep=-5 t/2=1
8   fetch empty | t/0 1
8   fetch live | t/0 1 | t/1 1 | u/0 1
8   fetch simple | t/1 1
25  commit live as=b gen=1 t/9=1
45  commit live as=b gen=1 u/9=1
45  commit simple t/3=1
45  commit empty t/9=1
60  commit live as=b gen=1 t/9=1
72  commit live as=b gen=1 t/9=2
72  fetch live | t/0 1 | t/1 1 | t/9 2 | u/9 1
72  fetch simple | t/3 1
72  fetch empty | nothing`
	var all []timed
	for _, line := range strings.Split(strings.TrimSpace(script), "\n") {
		command, answers, checked := strings.Cut(line, " | ")
		words := strings.Fields(command)
		c := timed{at: scripts.Duration(t, words[0]+"s"), words: words[1:]}
		if checked {
			c.want = strings.Split(answers, " | ")
		}
		all = append(all, c)
	}
	return all
}

// timed is a command and, where it matters, its answers.
type timed struct {
	at    time.Duration
	words []string
	want  []string
}

// TestOffsetsExpire: what stays and what goes is the same with Kafka and with us (KIP-211).
func TestOffsetsExpire(t *testing.T) {
	settings := map[string]string{"offsets.retention.minutes": "1", "offsets.retention.check.interval.ms": "1000",
		"group.initial.rebalance.delay.ms": "0", "offsets.topic.num.partitions": "3"}
	theirs := target.Kafka(t, kafka.Options{Settings: settings})
	ours, err := skein.Start(t, skein.Options{Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	brokers := map[string]string{"kafka": theirs.Addr}
	if served, err := admin.Advertises(t.Context(), ours.Addr, kmsg.OffsetCommit.Int16()); err == nil && served {
		brokers["skein"] = ours.Addr
	}
	t.Run("brokers", func(t *testing.T) {
		for name, addr := range brokers {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				expire(t, name, addr)
			})
		}
	})
}

func expire(t *testing.T, name, addr string) {
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	if err := admin.CreateTopics(ctx, addr, 10, nil, "t", "u"); err != nil {
		t.Fatal(err)
	}
	if err := wire.WarmUp(ctx, addr); err != nil {
		t.Fatal(err)
	}
	p := newPlayer(ctx, t, addr, "expire-")
	start := time.Now()
	for _, c := range expiring(t) {
		<-time.After(time.Until(start.Add(c.at)))
		got := p.until(c, soon)
		if c.want != nil && !slices.Equal(got, c.want) || c.want == nil && strings.Contains(strings.Join(got, ""), "_") {
			t.Errorf("second %v, since %v: %q answered %q, not %q", c.at.Seconds(), time.Since(start), c.words, got, c.want)
		}
	}
	report.Note(t, report.Shown, name, "lets offsets go, and keeps them, as KIP-211 says")
}

// soon is how long a broker on a busy machine may take to do what is due. Nothing else that matters happens meanwhile.
const soon = 10 * time.Second

// until asks until it is answered what is wanted, or for a while.
func (p *player) until(c timed, patience time.Duration) []string {
	for end := time.Now().Add(patience); ; <-time.After(200 * time.Millisecond) {
		got, _ := p.run(c.words, max(1, len(c.want)))
		slices.Sort(got)
		if c.want == nil || slices.Equal(got, c.want) || time.Now().After(end) {
			return got
		}
	}
}
