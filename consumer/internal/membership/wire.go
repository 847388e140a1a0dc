package membership

import (
	"time"
)

// protocolType is that of consumers.
const protocolType = "consumer"

// longestReason is how much of a reason is sent (KIP-800).
const longestReason = 255

func millis(d time.Duration) int32 { return int32(min(d.Milliseconds(), 1<<31-1)) }

func nullable(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// cut shortens a reason, at the border of a character.
func cut(s string) string {
	if len(s) <= longestReason {
		return s
	}
	end := longestReason
	for end > 0 && s[end]&0xC0 == 0x80 {
		end--
	}
	return s[:end]
}
