// Package stage plays an example as a whole: it brings a broker, has the input written and workers run, kills some of them with kill -9 on the
// way, and has the result checked. What there is to learn is in the examples, this is their frame.
package stage

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/skeinstream/skein/client"
)

// Play is an example.
type Play struct {
	// Name is what it is called, and About what it does, in a line.
	Name, About string
	Topics      []Topic
	// Workers is how many there are.
	Workers int
	// Lasts is how long Feed takes, about; workers are killed within that time.
	Lasts time.Duration
	// Prepare is done before there are workers; nil is nothing.
	Prepare func(ctx context.Context, at Place) error
	// Feed writes the input, while workers run.
	Feed func(ctx context.Context, at Place) error
	// Work is what a worker does until ctx ends. The name stays over a restart; "" is none.
	Work func(ctx context.Context, at Place, name string) error
	// Left is how many records of the input no worker is done with.
	Left func(ctx context.Context, at Place) (int64, error)
	// Check holds the result to the input, and says in a line what it has found.
	Check func(ctx context.Context, at Place) (string, error)
}

// Topic is one that a Play needs.
type Topic struct {
	Name       string
	Partitions int32
	Compacted  bool
}

// Place is where it plays.
type Place struct {
	Cluster client.Config
	Dir     string // for files that programs share
}

// Crew are the workers of a Play.
type Crew interface {
	Start(name string) error
	// Kill ends a worker as kill -9 does, and returns when it is dead.
	Kill(name string)
	// Failed tells of a worker that has ended by itself.
	Failed() <-chan error
	// End has all workers end in peace, and waits for them.
	End() error
}

// ErrInterrupted is that ctx has ended before the play had.
var ErrInterrupted = errors.New("interrupted: nothing was checked")

// Perform plays it, with a number of kills, and returns what Check has found.
func (p Play) Perform(ctx context.Context, at Place, crew Crew, kills int, say func(string)) (verdict string, err error) {
	defer func() { err = errors.Join(err, crew.End()) }()
	if err := p.found(ctx, at); err != nil {
		return "", err
	}
	for i := range p.Workers {
		if err := crew.Start(WorkerName(i)); err != nil {
			return "", err
		}
	}
	feeding, stop := context.WithCancel(ctx)
	fed := make(chan error, 1)
	go func() { fed <- p.Feed(feeding, at) }()
	finished, err := p.watch(ctx, at, crew, &killer{play: p, crew: crew, say: say, left: kills, every: p.Lasts / time.Duration(kills+1)}, fed, say)
	stop()
	if !finished {
		<-fed
	}
	if err != nil {
		return "", err
	}
	return p.Check(ctx, at)
}

// WorkerName is the name of the worker that is started first, second and so on.
func WorkerName(i int) string { return fmt.Sprintf("worker-%d", i+1) }

// found makes the topics, and what has to be there before anybody works.
func (p Play) found(ctx context.Context, at Place) error {
	kafka, err := kgo.NewClient(at.Cluster.KgoOptions()...)
	if err != nil {
		return err
	}
	defer kafka.Close()
	for _, t := range p.Topics {
		settings := map[string]*string{}
		if compact := "compact"; t.Compacted {
			settings["cleanup.policy"] = &compact
		}
		if _, err := kadm.NewClient(kafka).CreateTopic(ctx, t.Partitions, 1, settings, t.Name); err != nil {
			return fmt.Errorf("creating topic %s, which must not be there yet: %w", t.Name, err)
		}
	}
	if p.Prepare == nil {
		return nil
	}
	return p.Prepare(ctx, at)
}

// watch waits until everything that was fed is worked on. It says whether the feeding has ended.
func (p Play) watch(ctx context.Context, at Place, crew Crew, k *killer, fed <-chan error, say func(string)) (finished bool, err error) {
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	began, told := time.Now(), time.Time{}
	for {
		select {
		case <-ctx.Done():
			return finished, ErrInterrupted
		case err := <-crew.Failed():
			return finished, err
		case err := <-fed:
			if err != nil {
				return true, fmt.Errorf("writing the input: %w", err)
			}
			finished, fed = true, nil
		case now := <-tick.C:
			if err := k.kills(now.Sub(began)); err != nil {
				return finished, err
			}
			left, err := p.Left(ctx, at)
			if err != nil {
				return finished, err
			}
			if finished && left == 0 && k.left == 0 {
				return true, nil
			}
			if now.Sub(told) > time.Second {
				told = now
				say(fmt.Sprintf("%d records of the input wait", left))
			}
		}
	}
}

// killer kills workers in turn, at even intervals.
type killer struct {
	play  Play
	crew  Crew
	say   func(string)
	every time.Duration
	left  int
	done  int
}

func (k *killer) kills(passed time.Duration) error {
	if k.left == 0 || passed < k.every*time.Duration(k.done+1) {
		return nil
	}
	name := WorkerName(k.done % k.play.Workers)
	k.left, k.done = k.left-1, k.done+1
	k.crew.Kill(name)
	k.say(name + " was killed with kill -9, and is started again")
	return k.crew.Start(name)
}
