package prom_test

import (
	"log"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/skeinstream/skein/consumer"
	"github.com/skeinstream/skein/consumer/prom"
)

// Several consumers of one process are told apart by their labels.
func Example() {
	c, err := consumer.New(consumer.Config{Group: "billing"})
	if err != nil {
		log.Fatal(err)
	}
	prometheus.MustRegister(prom.New(c, prometheus.Labels{"group": "billing"}))
}
