package group

// These inputs decide no records, so they are served while the log takes none: the machine needs machine.Read for it. A
// Heartbeat is one of them, that members outlive a full disk.

// Reads is for machine.Read.
func (Heartbeat) Reads() {}

// Reads is for machine.Read.
func (Describe) Reads() {}

// Reads is for machine.Read.
func (List) Reads() {}

// Reads is for machine.Read.
func (Fetch) Reads() {}

// Reads is for machine.Read.
func (Guard) Reads() {}

// Reads is for machine.Read.
func (Topics) Reads() {}

// Reads is for machine.Read.
func (Count) Reads() {}
