package target

import (
	"os"
	"strings"
	"testing"

	"github.com/skeinstream/skein/interop/internal/report"
)

func TestMain(m *testing.M) { report.Main(m) }

// TestADeadKafkaIsBuried: the controller of one that is started again after kill -9 knows that it was dead, and does not take it for somebody who is alive.
func TestADeadKafkaIsBuried(t *testing.T) {
	b := StartNamed(t, "kafka", nil)
	b.Kill()
	if err := b.Revive(); err != nil {
		t.Fatal(err)
	}
	said, err := os.ReadFile(b.Logs[1])
	if err != nil {
		t.Fatal(err)
	}
	for _, wrong := range []string{"DUPLICATE_BROKER_REGISTRATION", "Fencing broker 1 "} {
		if strings.Contains(string(said), wrong) {
			t.Errorf("it says %q after the start", wrong)
		}
	}
}
