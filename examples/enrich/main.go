// Enrich joins a stream with a table, exactly once, whoever is killed on the way: go run ./examples/enrich.
//
// Payments name their customer by a number; the compacted topic customers has the names. A worker reads the whole table first, and works
// on payments then (join.go), while it follows the table. Payments of customers that are not in it go to the topic strangers, in the transaction
// that passes over them.
package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/skeinstream/skein/examples/internal/stage"
	"github.com/skeinstream/skein/examples/internal/table"
	"github.com/skeinstream/skein/producer"
)

func main() { bank(10*time.Second, 20_000).Main() }

const (
	partitions = 4
	customers  = 100
	// strangeEvery is which payments are of nobody that is known.
	strangeEvery = 1500
)

// bank has payments made within a time.
func bank(lasts time.Duration, payments int) stage.Play {
	return stage.Play{
		Name:  "enrich",
		About: "payments get the names of those who made them, exactly once",
		Topics: []stage.Topic{
			{Name: "customers", Partitions: 2, Compacted: true}, {Name: "payments", Partitions: partitions},
			{Name: "invoices", Partitions: partitions}, {Name: "strangers", Partitions: 1},
		},
		Workers: 2,
		Lasts:   lasts,
		Prepare: register,
		Feed:    func(ctx context.Context, at stage.Place) error { return pay(ctx, at, payments, lasts) },
		Work:    func(ctx context.Context, at stage.Place, name string) error { return join(ctx, at.Cluster, name) },
		Left: func(ctx context.Context, at stage.Place) (int64, error) {
			return stage.Lag(ctx, at.Cluster, "join", "payments")
		},
		Check: func(ctx context.Context, at stage.Place) (string, error) { return check(ctx, at, payments) },
	}
}

// register writes the table.
func register(ctx context.Context, at stage.Place) error {
	var rows []*producer.Record
	for i := range customers {
		rows = append(rows, &producer.Record{Topic: "customers", Key: fmt.Append(nil, i), Value: fmt.Appendf(nil, "customer no. %d", i)})
	}
	return send(ctx, at, rows)
}

func send(ctx context.Context, at stage.Place, records []*producer.Record) error {
	p, err := producer.New(producer.Config{Cluster: at.Cluster})
	if err != nil {
		return err
	}
	return errors.Join(p.SendSync(ctx, records...), p.Close(context.WithoutCancel(ctx)))
}

// who makes payment i; nobody knows a customer of a higher number.
func who(i int) int {
	if i%strangeEvery == strangeEvery-1 {
		return customers + i
	}
	return i % customers
}

// pay makes payments, in a hundred portions.
func pay(ctx context.Context, at stage.Place, payments int, lasts time.Duration) error {
	portion := payments/100 + 1
	for from := 0; from < payments; from += portion {
		var records []*producer.Record
		for i := from; i < min(from+portion, payments); i++ {
			records = append(records, &producer.Record{Topic: "payments", Key: fmt.Append(nil, who(i)), Value: fmt.Appendf(nil, "payment %d", i)})
		}
		if err := errors.Join(send(ctx, at, records), stage.Wait(ctx, lasts/100)); err != nil {
			return err
		}
	}
	return nil
}

// check looks for each payment, once, where it belongs.
func check(ctx context.Context, at stage.Place, payments int) (string, error) {
	found := map[string]int{}
	for p := range int32(partitions) {
		if err := collect(ctx, at, "invoices", p, found); err != nil {
			return "", err
		}
	}
	if err := collect(ctx, at, "strangers", 0, found); err != nil {
		return "", err
	}
	strangers := 0
	for i := range payments {
		want := fmt.Sprintf("invoices: payment %d by customer no. %d", i, who(i))
		if who(i) >= customers {
			want = fmt.Sprintf("strangers: payment %d", i)
			strangers++
		}
		if found[want] != 1 {
			return "", fmt.Errorf("%q is there %d times", want, found[want])
		}
		delete(found, want)
	}
	for more := range found {
		return "", fmt.Errorf("%q is there, and nobody paid that", more)
	}
	return fmt.Sprintf("checked: %d payments, each once: %d with the right name, %d put aside", payments, payments-strangers, strangers), nil
}

func collect(ctx context.Context, at stage.Place, topic string, partition int32, found map[string]int) error {
	log, err := table.Log(ctx, at.Cluster, topic, partition)
	for _, r := range log {
		found[topic+": "+string(r.Value)]++
	}
	return err
}
