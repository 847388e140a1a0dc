package quiet

import (
	"errors"
	"testing"
)

func TestANoisyKeeperTriesOnceAndAFailureIsNotTriedAgain(t *testing.T) {
	failed := errors.New("failed")
	for _, want := range []error{nil, failed} {
		k := Keeper{Noisy: true}
		tries := 0
		err := k.Undisturbed(t.Context(), 0, func(try int) error {
			tries++
			return want
		})
		if !errors.Is(err, want) || tries != 1 || k.Disturbed != 0 {
			t.Errorf("%d tries, %v; want one, %v", tries, err, want)
		}
	}
}
