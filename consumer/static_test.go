//go:build synctests

package consumer

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// R-B16: a static leader that is away while a topic grows finds that out when it is back, and so does a static member that comes
// back with more topics than before: the broker gives each what it had, and tells nobody.
func TestStaticMembersComeBackToWhatHasChanged(t *testing.T) {
	inBubble(t, func(w *world) {
		w.topic("t", 2)
		w.topic("u", 1)
		named := func(id string) Config {
			cfg := w.config()
			cfg.InstanceID = id
			return cfg
		}
		leader := w.member("leader", named("one"), "t")
		pass(5 * time.Second)
		other := w.member("other", named("two"), "t")
		pass(20 * time.Second)
		leader.close()
		if _, err := kadm.NewClient(w.admin).CreatePartitions(context.Background(), 2, "t"); err != nil {
			t.Fatal(err)
		}
		pass(3 * time.Second)
		leader = w.member("leader", named("one"), "t")
		pass(20 * time.Second)
		if n := len(leader.Assignment()) + len(other.Assignment()); n != 4 {
			t.Errorf("%d of 4 partitions have an owner", n)
		}
		other.close()
		pass(3 * time.Second)
		other = w.member("other", named("two"), "t", "u")
		pass(20 * time.Second)
		if n := len(leader.Assignment()) + len(other.Assignment()); n != 5 {
			t.Errorf("%d of 5 partitions have an owner", n)
		}
		leader.close()
		other.close()
	})
}
