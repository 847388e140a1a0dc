package storage

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skeinstream/skein/internal/vfs"
)

func TestCleanPointsAreWrittenAsKafkaDoes(t *testing.T) {
	fs := vfs.NewMemory()
	if points, err := ReadCleanPoints(fs, "."); err != nil || points != nil {
		t.Errorf("without a file: %v, %v", points, err)
	}
	want := []CleanPoint{{"a", 0, 12}, {"a", 10, 0}, {"b.c_d-e", 2, 1 << 40}}
	if err := WriteCleanPoints(fs, ".", []CleanPoint{want[2], want[1], want[0]}); err != nil {
		t.Fatal(err)
	}
	text, err := vfs.ReadFile(fs, cleanPointsName)
	if err != nil || string(text) != "0\n3\na 0 12\na 10 0\nb.c_d-e 2 1099511627776\n" {
		t.Errorf("written %q, %v", text, err)
	}
	if points, err := ReadCleanPoints(fs, "."); err != nil || !slices.Equal(points, want) {
		t.Errorf("read %v, %v", points, err)
	}
	if err := WriteCleanPoints(fs, ".", nil); err != nil {
		t.Fatal(err)
	}
	if points, err := ReadCleanPoints(fs, "."); err != nil || len(points) > 0 {
		t.Errorf("empty: %v, %v", points, err)
	}
}

func TestDamagedCleanPointsAreAnError(t *testing.T) {
	for _, text := range []string{"", "0", "1\n0\n", "0\n2\na 0 1\n", "0\n1\na 0\n", "0\n1\na 0 -1\n", "0\n1\n 0 1\n", "0\n1\na 4294967296 1\n", "0\nx\n"} {
		fs := vfs.NewMemory()
		if err := vfs.WriteFile(fs, cleanPointsName, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if points, err := ReadCleanPoints(fs, "."); err == nil {
			t.Errorf("%q reads as %v", text, points)
		}
	}
}

func TestThrottleKeepsTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		throttle := NewThrottle(1 << 20)
		begin := time.Now()
		for range 100 {
			if err := throttle.Pace(t.Context(), 100<<10); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(begin); took < 9*time.Second || took > 10*time.Second {
			t.Errorf("10 MiB took %v at 1 MiB a second", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := throttle.Pace(ctx, 100<<20); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("ended with %v", err)
		}
	})
}

func TestNoRateIsNoLimit(t *testing.T) {
	if err := NewThrottle(0).Pace(t.Context(), 1<<50); err != nil {
		t.Error(err)
	}
}
