package record

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Refusal is the error of a [Validator]: the wire code and the words that the
// Produce response carries for the partition.
type Refusal struct {
	Code    int16 // of package kerr
	Message string
	Records []RecordError // the records at fault, in order, where Kafka names them
	// BeforeLog says that the batch was refused before Kafka would have looked at
	// the log: the response then has -1 for the log start offset.
	BeforeLog bool
}

// RecordError says what is wrong with one record of a batch (KIP-467).
type RecordError struct {
	Index   int32 // of the record within its batch, from 0
	Message string
}

// recordErrorsMax bounds how many records a Refusal names. A batch of a few
// kilobytes can inflate to millions of records.
const recordErrorsMax = 1000

// Error gives the code's name and the message.
func (r *Refusal) Error() string {
	if e := kerr.TypedErrorForCode(r.Code); e != nil {
		return e.Message + ": " + r.Message
	}
	return r.Message
}

func refuse(code *kerr.Error, format string, args ...any) *Refusal {
	return &Refusal{Code: code.Code, Message: fmt.Sprintf(format, args...)}
}

// refuseEarly is refuse for what Kafka finds before it comes to the log.
func refuseEarly(code *kerr.Error, format string, args ...any) *Refusal {
	r := refuse(code, format, args...)
	r.BeforeLog = true
	return r
}

// refuseBytes gives the code for an error met in inflating or walking records.
// Kafka answers UNKNOWN_SERVER_ERROR to most compressed data that it cannot
// inflate; INVALID_RECORD is as final for a client and says what is wrong. What
// inflates beyond the limit is too large, which makes producers split it.
func refuseBytes(codec Codec, err error) *Refusal {
	if errors.Is(err, errInflatedSize) {
		return refuse(kerr.MessageTooLarge, "%v", err)
	}
	if codec == None {
		return refuse(kerr.InvalidRecord, "%v", err)
	}
	return refuse(kerr.InvalidRecord, "%v batch: %v", codec, err)
}
