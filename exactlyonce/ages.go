package exactlyonce

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/skeinstream/skein/internal/ages"
	"github.com/skeinstream/skein/producer"
)

// fences makes sure that every broker can tell a member's offsets from those of one that was taken for dead, before the group is joined or
// anything is written (R-F5): a coordinator moves from broker to broker, and in the middle of an upgrade of them they differ. It
// decides nothing but whether to begin; how to work is configured (R-F15).
func (c Config) fences(ctx context.Context) error {
	if c.UpgradeFrom != "" {
		return nil
	}
	const op = "looking how old the brokers are"
	client, err := kgo.NewClient(c.Producer.Cluster.KgoOptions()...)
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	defer client.Close()
	oldest, err := ages.Ask(ctx, client)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", op, err)
	case !oldest.Fences():
		return &producer.Error{Op: op, Class: producer.Fatal, Err: fmt.Errorf("%w: %s", producer.ErrCannotFence, oldest)}
	}
	return nil
}

func (c Config) checkUpgradeFrom() error {
	if c.UpgradeFrom == "" || slices.Contains(ages.Unfenced(), c.UpgradeFrom) {
		return nil
	}
	return fmt.Errorf("UpgradeFrom is %q: it is a release of Kafka that knows no generations in transactions, one of %s; leave it out for newer brokers",
		c.UpgradeFrom, strings.Join(ages.Unfenced(), ", "))
}
