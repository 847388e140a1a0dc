// Package api turns requests into calls on the rooms below and their results into responses. It is the third stop of a
// request's journey: server reads the frame, api decodes it, checks it, asks catalog or partition, and hands the
// response back to server.
//
// One file serves one request and is named after it (03_metadata.go); it opens with its version notes and contributes
// one entry to the dispatch table. Kafka's error codes are chosen here, but for those of records and sequences: the rooms
// that look at them answer with a code themselves.
//
// Serve runs on the reader goroutine of a connection, so a handler never waits there for the disk or for another
// request. What is answered from memory is answered at once; what changes the catalog goes through Handler.control, one
// change after the other.
package api

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/skeinstream/skein/broker/internal/catalog"
	"github.com/skeinstream/skein/broker/internal/partition"
	"github.com/skeinstream/skein/broker/internal/server"
	"github.com/skeinstream/skein/internal/settings"
)

// Deps is what the handlers stand on. The broker fills it in once, before the first request. Whatever must happen when
// the catalog changes (partitions opened and deleted, settings taken over) hangs on catalog.Options.Published, which is
// done before the request that caused the change is answered.
type Deps struct {
	Catalog *catalog.Catalog
	// Table has the partitions. Without one nothing about records can be asked, and all partitions pass for online.
	Table *partition.Table
	// Groups has the groups. Without it nothing about groups can be asked.
	Groups Groups
	// Transactions has the transactions. Without it, or without Groups, nothing about transactions can be asked.
	Transactions Transactions
	NodeID       int32
	// KafkaVersion is the release of Kafka whose requests alone are served; empty restricts nothing.
	KafkaVersion string

	// Static holds the broker settings as the operator gave them: file, environment, flags.
	Static map[string]string
	// Broker returns the broker settings in force now: the static ones with the catalog's dynamic ones over them.
	Broker func() *settings.Broker

	// Now is the wall clock.
	Now    func() time.Time
	Logger *slog.Logger
}

// Handler serves every request that this broker knows. It implements server.Handler. Make one with New.
type Handler struct {
	Deps
	table   map[int16]entry
	control serial
	data    dataState
}

// entry is one request's line in the dispatch table.
type entry struct {
	key, min, max int16
	flexible      int16 // first version with tagged fields
	serve         func(*Handler, context.Context, *server.Request)
}

// New returns a handler over deps.
func New(deps Deps) *Handler {
	if deps.Logger == nil {
		deps.Logger = slog.New(slog.DiscardHandler)
	}
	h := &Handler{Deps: deps, table: map[int16]entry{}}
	for _, e := range append(controlEntries(), dataEntries()...) {
		h.table[e.key] = e
	}
	if deps.Groups != nil {
		for _, e := range groupEntries() {
			h.table[e.key] = e
		}
	}
	if deps.Groups != nil && deps.Transactions != nil {
		for _, e := range transactionEntries() {
			h.table[e.key] = e
		}
	}
	if deps.KafkaVersion != "" {
		h.restrict(deps.KafkaVersion)
	}
	h.data.start(h)
	return h
}

// Shutdown waits until everything that was asked for has been done and answered, or ctx ends. No request may
// arrive any more.
func (h *Handler) Shutdown(ctx context.Context) error {
	return errors.Join(h.control.wait(ctx), h.data.wait(ctx))
}

// controlEntries lists the requests about the cluster: what exists and how it is set.
func controlEntries() []entry {
	return []entry{
		metadataEntry(),
		apiVersionsEntry(),
		createTopicsEntry(),
		deleteTopicsEntry(),
		describeConfigsEntry(),
		alterConfigsEntry(),
		createPartitionsEntry(),
		incrementalAlterConfigsEntry(),
		describeClusterEntry(),
		listConfigResourcesEntry(),
		describeTopicPartitionsEntry(),
	}
}

// Supports reports whether the request of this key and version is served.
func (h *Handler) Supports(key, version int16) bool {
	e, ok := h.table[key]
	return ok && version >= e.min && version <= e.max
}

// Flexible reports whether the request of this key and version has tagged fields.
func (h *Handler) Flexible(key, version int16) bool {
	e, ok := h.table[key]
	return ok && version >= e.flexible
}

// The limits of all requests but Produce, which carries records and is decoded in place. At 64 bytes
// each, controlBytes hold partitionsMax of what a request can name. Decoded and answered, a request takes 10 to 60 times
// its size when its parts are as small as they can be.
const (
	controlBytes  = 4 << 20
	controlSpread = 32
)

// Limits bounds what a request of this key may cost.
func (h *Handler) Limits(key int16) server.Limits {
	if kmsg.Key(key) == kmsg.Produce {
		return server.Limits{}
	}
	return server.Limits{MaxBytes: controlBytes, Spread: controlSpread}
}

// Serve answers r, now or later. The server has asked Supports before.
func (h *Handler) Serve(ctx context.Context, r *server.Request) {
	h.table[r.Key].serve(h, ctx, r)
}

// layers returns the broker settings that were given, by who gave them.
func (h *Handler) layers(s *catalog.Snapshot) settings.Layers {
	return settings.Layers{
		Static:         h.Static,
		DynamicDefault: s.BrokerConfigs(""),
		DynamicBroker:  s.BrokerConfigs(h.nodeName()),
	}
}

// nodeName is the name of this broker as a config resource.
func (h *Handler) nodeName() string { return strconv.Itoa(int(h.NodeID)) }
