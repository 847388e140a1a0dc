package txn

import "github.com/twmb/franz-go/pkg/kerr"

// The first versions that know PRODUCER_FENCED (KIP-588).
const (
	initFenced = 4
	addFenced  = 2
	endFenced  = 2
)

// fenced is the code for a stale epoch in a request of a version (T16, P7.9).
func fenced(version, since int16) int16 {
	if version < since {
		return kerr.InvalidProducerEpoch.Code
	}
	return kerr.ProducerFenced.Code
}
