package groups

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/skeinstream/skein/interop/internal/member"
	"github.com/skeinstream/skein/interop/internal/report"
)

// TestGroupsOfSeveralClientsLiveThroughEverything: clients of different
// languages share a group. The first of them to come is the leader; it leaves or
// is killed, so that others lead in turn.
func TestGroupsOfSeveralClientsLiveThroughEverything(t *testing.T) {
	clients := prepare(t)
	var lives errgroup.Group
	lives.SetLimit(*atOnce)
	for _, mix := range []struct {
		assignor string
		names    []string
	}{
		{"range", []string{"java 4.4.0", "confluent-kafka", "franz-go", "sarama"}},
		{"cooperative-sticky", []string{"java 4.4.0", "confluent-kafka", "franz-go"}},
	} {
		members, ok := pick(clients, mix.names)
		if !ok {
			report.Note(t, report.Lacks, "mixed group, "+mix.assignor, "one of %v is missing", mix.names)
			continue
		}
		for first := range members {
			inTurn := append(append([]member.Client{}, members[first:]...), members[:first]...)
			name := mix.assignor + "/" + strings.Fields(inTurn[0].Name)[0] + " first"
			lives.Go(func() error { t.Run(name, func(t *testing.T) { liveMixed(t, mix.assignor, inTurn) }); return nil })
		}
	}
	_ = lives.Wait()
}

func pick(clients []member.Client, names []string) (picked []member.Client, ok bool) {
	for _, name := range names {
		c, err := member.Named(clients, name)
		if err != nil {
			return nil, false
		}
		picked = append(picked, c)
	}
	return picked, true
}

// liveMixed: the first leads alone, the others come; the leader leaves, the
// broker starts again, the next leader is killed, the first comes back, all stop
// and start.
func liveMixed(t *testing.T, assignor string, clients []member.Client) {
	began := time.Now()
	l := newLife(t, assignor, false)
	var names []string
	come := func(c member.Client, suffix string) {
		name := strings.Fields(c.Name)[0] + suffix
		l.start(c, name)
		names = append(names, name)
	}
	come(clients[0], "")
	l.await("the first leads", names...)
	// Sarama commits with the leader epoch of the commit that it began at. After a
	// start of the broker, which begins a new epoch, Java takes that for a log cut
	// off where the old epoch ended, and goes back to there, on Kafka as well
	// (epochs_test.go); so the start is before it here.
	early := assignor == "range"
	if early {
		l.restart()
		l.commitsAnew()
	}
	for _, c := range clients[1:] {
		come(c, "")
	}
	l.await("the others come", names...)
	l.leave(names[0])
	names = names[1:]
	l.await("the leader leaves", names...)
	if !early {
		l.restart()
	}
	l.kill(names[0])
	names = names[1:]
	come(clients[0], "-2")
	l.await("the next is killed, the first comes back", names...)
	l.stopAll(names...)
	names = nil
	for _, c := range clients {
		come(c, "-3")
	}
	l.await("the group starts again", names...)
	passed(t, "mixed clients, "+strings.Fields(clients[0].Name)[0]+" first", assignor, l.finish(names...), began)
}
