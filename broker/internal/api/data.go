package api

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"

	"github.com/skeinstream/skein/broker/internal/fetchsession"
)

// dataState is what the requests about records keep between calls: produce, fetch and their kin.
type dataState struct {
	produces producePool
	fetches  fetchPool
	sessions *fetchsession.Cache
	ready    readyFetches
	// slow runs what waits for the disk and is asked for rarely.
	slow serial
}

func (d *dataState) start(h *Handler) {
	slots := 0
	if h.Broker != nil {
		slots = h.Broker().FetchSessions
	}
	d.sessions = fetchsession.New(slots, drawSessionID)
}

// drawSessionID is random, since whoever knows a session's id may fetch with it.
func drawSessionID() int32 {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return int32(binary.BigEndian.Uint32(b[:]))
}

// wait returns when nothing that the requests about records have begun is under way any more, or when ctx ends.
func (d *dataState) wait(ctx context.Context) error {
	return errors.Join(d.ready.wait(ctx), d.slow.wait(ctx))
}

// FetchSessions is how many fetch sessions there are, and how many partitions in all of them.
func (h *Handler) FetchSessions() (sessions, partitions int) { return h.data.sessions.Stats() }

// dataEntries lists the requests about records.
func dataEntries() []entry {
	return []entry{
		produceEntry(),
		fetchEntry(),
		listOffsetsEntry(),
		deleteRecordsEntry(),
		offsetForLeaderEpochEntry(),
		describeLogDirsEntry(),
		describeProducersEntry(),
	}
}
