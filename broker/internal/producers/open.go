package producers

// Open is the producers that have a transaction open, by its first offset.
func (t *Table) Open() []Entry {
	if len(t.open) == 0 {
		return nil
	}
	all := make([]Entry, len(t.open))
	for i, o := range t.open {
		all[i] = t.Lookup(o.producerID)
	}
	return all
}
