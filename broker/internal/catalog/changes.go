package catalog

import "context"

// ForgetTopics forgets deleted topics of which nothing is left on disk. Ids that are not among Snapshot.Deleted are
// passed over.
func (c *Catalog) ForgetTopics(ctx context.Context, ids ...ID) error {
	_, err := c.Change(ctx, func(s *Snapshot) ([]Record, error) {
		gone := make(map[ID]bool, len(ids))
		for _, id := range ids {
			gone[id] = true
		}
		var records []Record
		for _, t := range s.Deleted() { // the oldest first, which Apply finds soonest
			if gone[t.ID] {
				records = append(records, Record{TopicGone: &TopicGone{ID: t.ID}})
			}
		}
		return records, nil
	})
	return err
}

// NextProducerIDs sets n producer ids aside for the caller, durably, and returns the first. They are never given out
// again, so a caller takes a block (Kafka takes 1000) and hands it out from memory.
func (c *Catalog) NextProducerIDs(ctx context.Context, n int) (first int64, err error) {
	_, err = c.Change(ctx, func(s *Snapshot) ([]Record, error) {
		first = s.producerIDs
		return []Record{{ProducerIDsSet: &ProducerIDsSet{Next: first + int64(n)}}}, nil
	})
	return first, err
}
