package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
)

func segment(ctx context.Context, a arguments) error {
	var balancers []kafka.GroupBalancer
	for _, name := range a.assignors {
		balancers = append(balancers, map[string]kafka.GroupBalancer{"range": kafka.RangeGroupBalancer{}, "roundrobin": kafka.RoundRobinGroupBalancer{}}[name])
	}
	g, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{
		ID: a.group, Brokers: []string{a.bootstrap}, Topics: []string{a.topic}, GroupBalancers: balancers,
		Dialer:         &kafka.Dialer{ClientID: a.client, Timeout: 10 * time.Second},
		SessionTimeout: a.session, HeartbeatInterval: a.heartbeat, JoinGroupBackoff: 200 * time.Millisecond,
		StartOffset: kafka.FirstOffset,
		ErrorLogger: kafka.LoggerFunc(func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }),
	})
	if err != nil {
		return err
	}
	for {
		generation, err := g.Next(ctx)
		if ctx.Err() != nil {
			return g.Close()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "joining:", err) // the broker starts again
			continue
		}
		segmentGeneration(ctx, a, generation)
	}
}

// segmentGeneration handles what one generation gives, until it ends.
func segmentGeneration(ctx context.Context, a arguments, g *kafka.Generation) {
	over := make(chan struct{})
	g.Start(func(ended context.Context) {
		defer close(over)
		reading, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(ended, cancel)()
		var mine []int32
		for _, p := range g.Assignments[a.topic] {
			mine = append(mine, int32(p.ID))
		}
		sayPartitions("assigned", mine)
		s := segmentReader{a: a, generation: g, pending: map[int]int64{}}
		var readers sync.WaitGroup
		for _, p := range g.Assignments[a.topic] {
			readers.Go(func() { s.read(reading, p) })
		}
		s.commitUntil(reading)
		readers.Wait()
		s.commit()
		sayPartitions("revoked", mine)
	})
	<-over
}

type segmentReader struct {
	a          arguments
	generation *kafka.Generation
	mu         sync.Mutex
	pending    map[int]int64
}

func (s *segmentReader) commitUntil(ctx context.Context) {
	tick := time.NewTicker(commitEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.commit()
		case <-ctx.Done():
			return
		}
	}
}

func (s *segmentReader) commit() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.pending) == 0 {
		return
	}
	if err := s.generation.CommitOffsets(map[string]map[int]int64{s.a.topic: s.pending}); err != nil {
		fmt.Fprintln(os.Stderr, "committing:", err)
		return
	}
	clear(s.pending)
}

func (s *segmentReader) read(ctx context.Context, p kafka.PartitionAssignment) {
	r := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{s.a.bootstrap}, Topic: s.a.topic, Partition: p.ID,
		MinBytes: 1, MaxBytes: 1 << 20, MaxWait: 100 * time.Millisecond})
	defer r.Close()
	if err := r.SetOffset(p.Offset); err != nil {
		say("failed %v", err)
		return
	}
	for {
		m, err := r.ReadMessage(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			if !errors.Is(err, context.DeadlineExceeded) {
				fmt.Fprintln(os.Stderr, "reading:", err)
			}
			continue
		}
		s.mu.Lock()
		say("handled %d %d %d 1", p.ID, m.Offset, m.Offset)
		s.pending[p.ID] = m.Offset + 1
		s.mu.Unlock()
	}
}
