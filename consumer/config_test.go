package consumer

import (
	"strings"
	"testing"
	"time"

	"github.com/skeinstream/skein/assign"
)

// What cannot work is refused at the start, with what to choose instead.
func TestConfigurationsThatCannotWork(t *testing.T) {
	for want, cfg := range map[string]Config{
		"a third of it is usual":                 {Group: "g", SessionTimeout: 6 * time.Second, HeartbeatInterval: 6 * time.Second},
		"PollInterval is 1µs: choose":            {Group: "g", PollInterval: time.Microsecond},
		"rounds before an upgrade: it cannot be": {Group: "g", UpgradeRounds: -1},
		"set Group, too":                         {InstanceID: "i"},
		"two assignors have one name":            {Group: "g", Assignors: []assign.Assignor{assign.Range{}, assign.Range{}}},
	} {
		c, err := New(cfg)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, where %q belongs", err, want)
		}
		if c != nil {
			t.Errorf("there is a consumer of %+v", cfg)
		}
	}
}
