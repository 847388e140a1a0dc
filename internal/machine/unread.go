package machine

import (
	"log/slog"
	"maps"
	"slices"
)

// Unread counts the records of a replay that had no effect, by the reason. The zero value is ready.
type Unread struct{ reasons map[string]int64 }

// unreadMost bounds how many reasons are told apart.
const unreadMost = 20

// Add counts one.
func (u *Unread) Add(reason error) {
	if u.reasons == nil {
		u.reasons = map[string]int64{}
	}
	if what := reason.Error(); u.reasons[what] > 0 || len(u.reasons) < unreadMost {
		u.reasons[what]++
	}
}

// Any says whether there was one.
func (u *Unread) Any() bool { return len(u.reasons) > 0 }

// Take returns a warning with a message for each reason, in their order, and forgets them.
func (u *Unread) Take(message string) (notes []Note) {
	for _, reason := range slices.Sorted(maps.Keys(u.reasons)) {
		notes = append(notes, Note{Level: slog.LevelWarn, Message: message, Attrs: []slog.Attr{
			slog.String("reason", reason), slog.Int64("records", u.reasons[reason]),
		}})
	}
	u.reasons = nil
	return notes
}
