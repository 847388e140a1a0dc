package txns

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Filter is whom a list shows. Its zero value shows everybody.
type Filter struct {
	States    []string
	Producers []int64 // ids
	Pattern   string  // of transactional ids, as shells have them; "": any
	// Longer is for how long, at least, a transaction must have been open; 0: ids without one are listed too.
	Longer time.Duration
}

// Fits says whether a transactional id is shown, as far as a list tells. Brokers apply what they know of a filter; older
// ones answer with more.
func (f Filter) Fits(l Listed) bool {
	if len(f.States) > 0 && !slices.Contains(f.States, l.State) || len(f.Producers) > 0 && !slices.Contains(f.Producers, l.ProducerID) {
		return false
	}
	if f.Longer > 0 && !(&Transaction{State: l.State}).Open() {
		return false
	}
	return f.matches(l.ID)
}

func (f Filter) matches(id string) bool {
	if f.Pattern == "" {
		return true
	}
	ok, err := path.Match(f.Pattern, id)
	return ok && err == nil
}

// FitsAge says whether a transaction has been open for long enough to be shown.
func (f Filter) FitsAge(t Transaction) bool {
	age, open := t.Age()
	return f.Longer <= 0 || open && age >= f.Longer
}

// Regexp is a regular expression that matches at least what Pattern does, for brokers that search by it (KIP-1152); "" when
// there is no such thing.
func (f Filter) Regexp() string {
	if strings.ContainsAny(f.Pattern, `[\`) {
		return ""
	}
	quoted := regexp.QuoteMeta(f.Pattern)
	return strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(quoted)
}
