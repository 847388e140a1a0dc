package api

import (
	"context"

	"github.com/skeinstream/skein/broker/internal/catalog"
)

// logChanges writes one line for each change that a request made.
func (h *Handler) logChanges(records []catalog.Record) {
	for _, r := range records {
		switch {
		case r.TopicCreated != nil:
			t := r.TopicCreated
			h.Logger.Info("topic created", "topic", t.Name, "id", t.ID.String(), "partitions", t.Partitions, "settings", brief(t.Configs))
		case r.TopicDeleted != nil:
			h.Logger.Info("topic deleted", "id", r.TopicDeleted.ID.String())
		case r.PartitionsSet != nil:
			h.Logger.Info("partitions added", "id", r.PartitionsSet.ID.String(), "partitions", r.PartitionsSet.Partitions)
		case r.TopicConfigs != nil:
			h.Logger.Info("topic settings changed", "id", r.TopicConfigs.ID.String(), "settings", brief(r.TopicConfigs.Configs))
		case r.BrokerConfigs != nil:
			h.Logger.Info("broker settings changed", "broker", r.BrokerConfigs.Broker, "settings", brief(r.BrokerConfigs.Configs))
		}
	}
}

// brief is settings for a line in the log: a value may be a list of megabytes.
func brief(configs map[string]string) map[string]string {
	told := make(map[string]string, len(configs))
	for name, value := range configs {
		told[name] = short(value)
	}
	return told
}

// change makes what decide says and logs it; validateOnly makes it a rehearsal.
func (h *Handler) change(ctx context.Context, validateOnly bool, decide func(*catalog.Snapshot) []catalog.Record) error {
	var made []catalog.Record
	_, err := h.Catalog.Change(ctx, func(s *catalog.Snapshot) ([]catalog.Record, error) {
		made = decide(s)
		if validateOnly {
			made = nil
		}
		return made, nil
	})
	if err == nil {
		h.logChanges(made)
	}
	return err
}
