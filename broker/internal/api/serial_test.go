package api

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
)

func TestSerialRunsInOrderAndEndsWhenThereIsNothingToDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s serial
		var ran []int
		for i := range 100 {
			s.do(func() { ran = append(ran, i) })
		}
		if err := s.wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(ran) != 100 || !slices.IsSorted(ran) {
			t.Errorf("%v", ran)
		}
		if err := s.wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

func TestSerialWaitEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s serial
		hold := make(chan struct{})
		s.do(func() { <-hold })
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.wait(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		close(hold)
	})
}
