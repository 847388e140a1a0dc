package group

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
)

// TestRefusedJoinsNameNoProtocol: null from version 7 on, which is when it can be (KIP-559); Kafka 4.4 answers so.
func TestRefusedJoinsNameNoProtocol(t *testing.T) {
	for version := range int16(10) {
		r := joinRefused(version, "m", kerr.UnknownMemberID.Code)
		back := joinRefused(version, "", 0)
		if err := back.ReadFrom(r.AppendTo(nil)); err != nil {
			t.Fatal(err)
		}
		if version >= 7 != (back.Protocol == nil) || text(back.Protocol) != "" || back.ProtocolType != nil || back.Generation != -1 || back.LeaderID != "" {
			t.Errorf("version %d: %+v", version, back)
		}
	}
}
