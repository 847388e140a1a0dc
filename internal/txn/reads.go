package txn

// These inputs decide no records, so they are served while the log takes none: the machine needs machine.Read for it.

// Reads is for machine.Read.
func (Reach) Reads() {}

// Reads is for machine.Read.
func (Describe) Reads() {}

// Reads is for machine.Read.
func (List) Reads() {}

// Reads is for machine.Read.
func (Count) Reads() {}

// Reads is for machine.Read.
func (Unended) Reads() {}
