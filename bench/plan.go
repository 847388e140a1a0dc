package main

import (
	"time"

	"github.com/skeinstream/skein/bench/internal/result"
)

// plan says how much each phase does; every broker gets the same.
type plan struct {
	idle    time.Duration // from the first accepted produce until idle memory is read
	latency time.Duration // of each run at a fixed rate
	groups  time.Duration // of each run that commits offsets or sends heartbeats
	storm   int           // members that join at once
	txns    time.Duration // of each run of transactions
	warm    int           // records of 100 B before anything but the start is measured
	records map[int]int   // of the Go client's throughput, by record size
	others  map[int]int   // of the other clients'

	committed int  // records that are read when committed only
	noisy     bool // never mind who else uses the machine
}

func full() plan {
	return plan{
		idle:    5 * time.Second,
		latency: 10 * time.Second,
		groups:  5 * time.Second,
		storm:   result.StormMembers,
		txns:    4 * time.Second,
		warm:    1_500_000,
		records: map[int]int{100: 3_000_000, 1024: 500_000},
		others:  map[int]int{100: 2_000_000, 1024: 400_000},

		committed: 480_000,
	}
}

// times is the plan with n/d times the load.
func (p plan) times(n, d int) plan {
	scaled := p
	scaled.committed = p.committed * n / d
	scaled.warm, scaled.records, scaled.others = p.warm*n/d, map[int]int{}, map[int]int{}
	for size := range p.records {
		scaled.records[size] = p.records[size] * n / d
		scaled.others[size] = p.others[size] * n / d
	}
	return scaled
}

func quick() plan {
	p := full().times(1, 10)
	p.idle, p.latency, p.noisy = time.Second, 2*time.Second, true
	p.groups, p.storm, p.txns = time.Second, 100, time.Second
	return p
}

func (o options) choosePlan() plan {
	p := full()
	if o.quick {
		p = quick()
	}
	if o.profiles != "" {
		p = p.times(4, 1)
	}
	return p
}
