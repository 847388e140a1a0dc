package assign

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/skeinstream/skein/assign"
	"github.com/skeinstream/skein/client"
	"github.com/skeinstream/skein/consumer"
	"github.com/skeinstream/skein/internal/roster"
	"github.com/skeinstream/skein/interop/internal/admin"
	"github.com/skeinstream/skein/interop/internal/report"
	"github.com/skeinstream/skein/interop/internal/target"
	"github.com/skeinstream/skein/interop/kafka"
)

// publisher is a member of ours that publishes its name.
type publisher struct {
	*consumer.Consumer
	stop context.CancelFunc
	done sync.WaitGroup

	mu     sync.Mutex
	roster *consumer.Roster // the last one that it has seen as the leader
}

func startPublisher(t *testing.T, at place, assignor, id string) *publisher {
	t.Helper()
	p := new(publisher)
	var err error
	p.Consumer, err = consumer.New(consumer.Config{
		Cluster: client.Config{Brokers: []string{at.addr}, ClientID: id}, Group: at.group, HeartbeatInterval: heartbeat, ManualCommit: true,
		Assignors: []assign.Assignor{ours(assignor)}, StrictAssignors: true, Publish: []byte(id),
		Hooks: consumer.Hooks{Roster: func(r consumer.Roster) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.roster = &r
		}},
	})
	if err == nil {
		err = p.Subscribe(at.topic)
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.stop = cancel
	p.done.Go(func() {
		for ctx.Err() == nil {
			if _, err := p.Poll(ctx); err != nil && ctx.Err() == nil {
				t.Errorf("%s: %v", id, err)
				return
			}
		}
	})
	return p
}

func (p *publisher) close(t *testing.T) {
	p.stop()
	p.done.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := p.Close(ctx); err != nil {
		t.Errorf("closing: %v", err)
	}
}

func (p *publisher) saw() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.roster == nil {
		return "nothing"
	}
	return fmt.Sprintf("%s, missing %s", p.roster.Present, p.roster.Missing)
}

// TestPublishersAmongOthers: two members of ours that publish, in a group that a member of each other client leads, and is then led by one of ours, on
// a real Kafka: everybody gets an equal part, whoever leads; what was published survives leaders that know nothing of it. Assignors that look at no user
// data are tried with one leader; with all of them by SKEIN_INTEROP_LONG=1.
func TestPublishersAmongOthers(t *testing.T) {
	broker := target.Kafka(t, kafka.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := admin.CreateTopics(ctx, broker.Addr, partitions, nil, "shared"); err != nil {
		t.Fatal(err)
	}
	for _, assignor := range []string{"cooperative-sticky", "range", "roundrobin"} {
		if !roster.Carries(assignor) {
			t.Fatalf("nothing is published under %s", assignor)
		}
		for i, leader := range starters[2:] {
			if !slices.Contains(leader.knows, assignor) || assignor != "cooperative-sticky" && leader.name != "java" && os.Getenv("SKEIN_INTEROP_LONG") == "" {
				continue
			}
			t.Run(assignor+" led by "+leader.name, func(t *testing.T) {
				amongOthers(t, place{broker.Addr, fmt.Sprintf("%s-publishers-%d", assignor, i), "shared"}, assignor, leader)
			})
		}
	}
}

func amongOthers(t *testing.T, at place, assignor string, leader starter) {
	w := newWatch(t, at)
	stop, err := leader.start(t, at, assignor, leader.name)
	if err != nil {
		report.MissingPeer(t, leader.name+" in a group with members that publish", err)
		return
	}
	leads := true
	defer func() {
		if leads {
			stop()
		}
	}()
	w.settled(1)
	one := startPublisher(t, at, assignor, "one")
	defer func() { one.close(t) }()
	w.settled(2)
	two := startPublisher(t, at, assignor, "two")
	w.settled(3)
	if saw := one.saw() + "; " + two.saw(); saw != "nothing; nothing" {
		t.Errorf("led by %s, ours saw %s", leader.name, saw)
	}
	leads = false
	stop()
	w.settled(2)
	three := startPublisher(t, at, assignor, "three")
	w.settled(3)
	two.close(t)
	w.settled(2)
	three.close(t)
	w.settled(1)
	if saw := one.saw(); saw != "[one], missing [three two]" { // who led before may have died with what it missed: that counts once more
		t.Errorf("one saw %s", saw)
	}
	report.Note(t, report.Run, leader.name+" in a group with members that publish", "under %s, leading and not", assignor)
}
