package settings

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/skeinstream/skein/internal/nearest"
)

// Rule says which values of a type are allowed. String says it in words, for error messages and the reference page.
type Rule interface {
	Check(Value) error
	String() string
}

// bounds allows the whole numbers from min to max, and one more when alsoSet.
type bounds struct {
	min, max int64
	also     int64
	alsoSet  bool
}

func atLeast(n int64) Rule           { return bounds{min: n, max: math.MaxInt64} }
func between(low, high int64) Rule   { return bounds{min: low, max: high} }
func (b bounds) or(extra int64) Rule { b.also, b.alsoSet = extra, true; return b }

func (b bounds) Check(v Value) error {
	switch {
	case b.alsoSet && v.Number == b.also:
		return nil
	case b.alsoSet && (v.Number < b.min || v.Number > b.max):
		return fmt.Errorf("value must be between %d and %d or equal to %d", b.min, b.max, b.also)
	case v.Number < b.min:
		return fmt.Errorf("value must be at least %d", b.min)
	case v.Number > b.max:
		return fmt.Errorf("value must be no more than %d", b.max)
	default:
		return nil
	}
}

func (b bounds) String() string {
	text := fmt.Sprintf("%d to %d", b.min, b.max)
	if b.max == math.MaxInt64 {
		text = fmt.Sprintf("%d or more", b.min)
	}
	if b.alsoSet {
		text += fmt.Sprintf(", or %d", b.also)
	}
	return text
}

// share allows the numbers from min to max.
type share struct{ min, max float64 }

func (s share) Check(v Value) error {
	switch {
	case v.Real < s.min:
		return fmt.Errorf("value must be at least %g", s.min)
	case v.Real > s.max:
		return fmt.Errorf("value must be no more than %g", s.max)
	default:
		return nil
	}
}

func (s share) String() string {
	if s.max == math.MaxFloat64 {
		return fmt.Sprintf("%g or more", s.min)
	}
	return fmt.Sprintf("%g to %g", s.min, s.max)
}

// oneOf allows some words; in a list, every item must be one of them.
type oneOf []string

func (o oneOf) Check(v Value) error {
	for _, item := range v.items() {
		if !slices.Contains(o, item) {
			return o.refuse(item)
		}
	}
	return nil
}

func (o oneOf) refuse(item string) error {
	if near := nearest.Name(item, o); near != "" {
		return fmt.Errorf("%q is not known; did you mean %s?", item, near)
	}
	return fmt.Errorf("%q is not known", item)
}

func (o oneOf) String() string { return "one of " + strings.Join(o, ", ") }

// anyOf allows a list, also an empty one, of some words.
type anyOf []string

func (a anyOf) Check(v Value) error {
	if v.Text == "" {
		return nil
	}
	return oneOf(a).Check(v)
}

func (a anyOf) String() string { return "any of " + strings.Join(a, ", ") }

// pattern allows what matches an expression, item by item.
type pattern struct {
	expr *regexp.Regexp
	text string
}

func (p pattern) Check(v Value) error {
	for _, item := range v.items() {
		if !p.expr.MatchString(item) {
			return fmt.Errorf("%q is not %s", item, p.text)
		}
	}
	return nil
}

func (p pattern) String() string { return p.text }

// throttled allows an empty list, * alone, or a list of partition:broker.
type throttled struct{ item pattern }

func (t throttled) Check(v Value) error {
	switch {
	case v.Text == "":
		return nil
	case len(v.List) > 1 && slices.Contains(v.List, "*"):
		return fmt.Errorf("* must stand alone")
	default:
		return t.item.Check(v)
	}
}

func (t throttled) String() string { return t.item.text }

// single allows a list of one item.
type single struct{}

func (single) Check(v Value) error {
	if len(v.List) != 1 {
		return fmt.Errorf("there must be exactly one")
	}
	return nil
}

func (single) String() string { return "exactly one" }
