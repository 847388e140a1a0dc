// Wordcount counts the words of a text, exactly once, whoever is killed on the way: go run ./examples/wordcount.
//
// Lines of Newton's Opticks are written to the topic lines. Workers take them apart (split.go), and add up what comes of that word by word
// (count.go). The result is the compacted topic counts, and no other store: of each word how often it is there.
//
//	lines ── split ──▶ words ── count ──▶ counts
//	         (line → the words in it)     (word → its number)
//
// Each arrow is a group of its own that works exactly once.
package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/skeinstream/skein/client"
	"github.com/skeinstream/skein/examples/internal/stage"
)

func main() { opticks(10*time.Second, everything).Main() }

// opticks has so many lines of the text read out and counted, within a time.
func opticks(lasts time.Duration, lines int) stage.Play {
	return stage.Play{
		Name:  "wordcount",
		About: "the words of Newton's Opticks are counted, exactly once",
		Topics: []stage.Topic{
			{Name: "lines", Partitions: 4}, {Name: "words", Partitions: partitions}, {Name: "counts", Partitions: partitions, Compacted: true},
		},
		Workers: 2,
		Lasts:   lasts,
		Feed:    func(ctx context.Context, at stage.Place) error { return read(ctx, at.Cluster, lines, lasts) },
		Work:    work,
		Left:    left,
		Check:   func(ctx context.Context, at stage.Place) (string, error) { return check(ctx, at.Cluster, lines) },
	}
}

// work does both steps, until ctx ends.
func work(ctx context.Context, at stage.Place, name string) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var errs [2]error
	var steps sync.WaitGroup
	for i, step := range []func(context.Context, client.Config, string) error{split, count} {
		steps.Go(func() {
			defer stop() // one without the other is no worker
			errs[i] = step(ctx, at.Cluster, name)
		})
	}
	steps.Wait()
	return errors.Join(errs[:]...)
}

func left(ctx context.Context, at stage.Place) (int64, error) {
	lines, err := stage.Lag(ctx, at.Cluster, "split", "lines")
	if err != nil {
		return 0, err
	}
	words, err := stage.Lag(ctx, at.Cluster, "count", "words")
	return lines + words, err
}
