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

// Who only shortens the session has heartbeats that suit it.
func TestHeartbeatsFollowTheSession(t *testing.T) {
	for session, want := range map[time.Duration]time.Duration{0: 3 * time.Second, 9 * time.Second: 3 * time.Second, 2400 * time.Millisecond: 800 * time.Millisecond} {
		cfg := Config{Group: "g", SessionTimeout: session}.withDefaults()
		if err := cfg.check(); err != nil || cfg.HeartbeatInterval != want {
			t.Errorf("a session of %v has heartbeats each %v, not %v: %v", session, cfg.HeartbeatInterval, want, err)
		}
	}
}
