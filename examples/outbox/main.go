// Outbox publishes what another program has written down, each row once, whoever is killed on the way: go run ./examples/outbox.
//
// A shop writes its orders to a table in the transaction that changes the rest of its database; here it is a file of JSON lines. The relay
// (relay.go) sends them on to the topic orders. How far it has come is a record of the topic positions, written in the same transaction as the
// orders: so there is no moment at which one is known without the other, and the database is never written to.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/skeinstream/skein/examples/internal/stage"
	"github.com/skeinstream/skein/examples/internal/table"
)

func main() { shop(10*time.Second, 5000).Main() }

// shop takes orders, within a time.
func shop(lasts time.Duration, orders int) stage.Play {
	return stage.Play{
		Name:    "outbox",
		About:   "orders are written to a file, and published exactly once",
		Topics:  []stage.Topic{{Name: "orders", Partitions: 1}, {Name: "positions", Partitions: 1, Compacted: true}},
		Workers: 1,
		Lasts:   lasts,
		Feed:    func(ctx context.Context, at stage.Place) error { return sell(ctx, at, orders, lasts) },
		Work:    func(ctx context.Context, at stage.Place, _ string) error { return work(ctx, at.Cluster, outbox(at)) },
		Left:    left,
		Check:   func(ctx context.Context, at stage.Place) (string, error) { return check(ctx, at, orders) },
	}
}

func outbox(at stage.Place) file { return file(filepath.Join(at.Dir, "orders.jsonl")) }

type order struct {
	Number int    `json:"number"`
	Item   string `json:"item"`
}

// sell is the shop: one order after the other.
func sell(ctx context.Context, at stage.Place, orders int, lasts time.Duration) (err error) {
	f, err := os.OpenFile(string(outbox(at)), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	for i := range orders {
		row, err := json.Marshal(order{i, []string{"prism", "lens", "mirror"}[i%3]})
		if err != nil {
			return err
		}
		if _, err := f.Write(append(row, '\n')); err != nil {
			return err
		}
		if i%50 == 49 {
			if err := stage.Wait(ctx, lasts*50/time.Duration(orders)); err != nil {
				return err
			}
		}
	}
	return nil
}

func left(ctx context.Context, at stage.Place) (int64, error) {
	came, err := position(ctx, at.Cluster)
	if err != nil {
		return 0, err
	}
	rows, _, err := outbox(at).after(came, -1)
	return int64(len(rows)), err
}

// check holds the topic to the file: every row is there, once, and in its order.
func check(ctx context.Context, at stage.Place, orders int) (string, error) {
	rows, _, err := outbox(at).after(0, -1)
	if err != nil {
		return "", err
	}
	sent, err := table.Log(ctx, at.Cluster, "orders", 0)
	if err != nil {
		return "", err
	}
	for i := range max(len(rows), len(sent)) {
		if i >= len(rows) || i >= len(sent) || !bytes.Equal(rows[i], sent[i].Value) {
			return "", fmt.Errorf("%d orders were written down, %d were published, and the first that is not the same is number %d", len(rows), len(sent), i)
		}
	}
	if len(rows) != orders {
		return "", fmt.Errorf("%d orders were written down: it should be %d", len(rows), orders)
	}
	return fmt.Sprintf("checked: %d orders, each published once, in their order", len(rows)), nil
}
