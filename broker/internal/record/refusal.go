package record

import "github.com/twmb/franz-go/pkg/kerr"

// Refusal is the error of a [Validator]: the wire code and the words that the
// Produce response carries for the partition.
type Refusal struct {
	Code    int16 // of package kerr
	Message string
	Records []RecordError // the records at fault, in order, when they are known
}

// RecordError says what is wrong with one record of a batch (KIP-467).
type RecordError struct {
	Index   int32 // of the record within its batch, from 0
	Message string
}

// Error gives the message and the code's name.
func (r *Refusal) Error() string {
	if e := kerr.TypedErrorForCode(r.Code); e != nil {
		return e.Message + ": " + r.Message
	}
	return r.Message
}
