package api

import "github.com/skeinstream/skein/broker/internal/partition"

// DataDeps is what the requests about records stand on: produce, fetch and their kin.
type DataDeps struct {
	Table *partition.Table
}

// dataState is what those requests keep between calls, such as fetch sessions.
type dataState struct{}

func (*dataState) start(*Handler) {}

// dataEntries lists the requests about records.
func dataEntries() []entry { return nil }
