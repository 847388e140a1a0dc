package producer

import "time"

// Hooks are told of what a dashboard or a test wants to know. Each may be nil. They must not wait, and must not call the producer.
type Hooks struct {
	// Transaction is one that has ended, or that was lost.
	Transaction func(Transaction)
	// Renewed says that the producer has gone on with a new client, since the old one could not.
	Renewed func()
}

// Transaction is what has become of one.
type Transaction struct {
	Committed bool
	Records   int           // that were handed over in it
	Took      time.Duration // from the end of Begin to that of Commit or Abort
	Err       error         // why it could not be committed
}

func (h Hooks) transaction(t Transaction) {
	if h.Transaction != nil {
		h.Transaction(t)
	}
}

func (h Hooks) renewed() {
	if h.Renewed != nil {
		h.Renewed()
	}
}
