package api

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/skeinstream/skein/broker/internal/coordinator"
	"github.com/skeinstream/skein/broker/internal/record"
)

// MarkCode is the code of WriteTxnMarkers for what has become of a marker: an error of package coordinator, a refusal of
// package record, or one that wraps package kerr's. Whoever sent it is a coordinator and comes again when it may.
func MarkCode(err error) int16 {
	var refusal *record.Refusal
	var known *kerr.Error
	switch {
	case err == nil:
		return 0
	case errors.As(err, &refusal):
		return refusal.Code
	case errors.Is(err, coordinator.ErrLoading):
		return kerr.CoordinatorLoadInProgress.Code
	case errors.Is(err, coordinator.ErrNotCoordinator):
		return kerr.NotLeaderForPartition.Code
	case errors.As(err, &known):
		return known.Code
	}
	return kerr.UnknownServerError.Code
}
