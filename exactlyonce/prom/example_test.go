package prom_test

import (
	"context"
	"log"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/skeinstream/skein/consumer"
	"github.com/skeinstream/skein/exactlyonce"
	"github.com/skeinstream/skein/exactlyonce/prom"
)

// A processor's figures, and those of its consumer, are shown by what shows the others of the process.
func ExampleNew() {
	cfg := exactlyonce.Config{Consumer: consumer.Config{Group: "billing"}, Topics: []string{"payments"}}
	bill := func(context.Context, consumer.Batch, *exactlyonce.Out) error { return nil }

	p, err := exactlyonce.New(cfg, bill)
	if err != nil {
		log.Fatal(err)
	}
	prometheus.MustRegister(prom.New(p, prometheus.Labels{"group": "billing"}))
}
