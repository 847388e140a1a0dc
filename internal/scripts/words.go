// Package scripts is the language of the scripts by which coordinators are tested: by themselves, with a clock of their own
// (internal/group, internal/txn), and as whole brokers, over the wire and in real time (interop).
//
// A script is commands, each followed by what it makes happen, indented. A line that begins with # is for the reader. Of a
// command's words those with = are options, and those with a slash before it places, such as "orders/0=5". "x*10" stands for
// ten times x, and "-" for nothing. What commands there are is written beside the tests that play them.
package scripts

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Failer is what *testing.T and *rapid.T have in common.
type Failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// Options are the words of a command behind those that say which it is.
type Options struct {
	Words  []string // in order
	Places []string // likewise
	named  map[string]string
	t      Failer
}

// Parse takes words apart.
func Parse(t Failer, words []string) Options {
	o := Options{named: map[string]string{}, t: t}
	for _, w := range words {
		name, value, option := strings.Cut(w, "=")
		switch {
		case strings.Contains(name, "/"):
			o.Places = append(o.Places, w)
		case option:
			o.named[name] = o.repeated(value)
		default:
			o.Words = append(o.Words, w)
		}
	}
	return o
}

// Given tells whether an option is there.
func (o Options) Given(name string) bool {
	_, given := o.named[name]
	return given
}

// Text is an option; "-" is the empty one.
func (o Options) Text(name, otherwise string) string {
	switch v, given := o.named[name]; {
	case !given:
		return otherwise
	case v == "-":
		return ""
	default:
		return v
	}
}

// Pointer is an option that may be left out: nil then. Underscores stand for spaces.
func (o Options) Pointer(name string) *string {
	v, given := o.named[name]
	if !given {
		return nil
	}
	v = strings.ReplaceAll(v, "_", " ")
	return &v
}

// Number is an option that is one.
func (o Options) Number(name string, otherwise int64) int64 {
	if v, given := o.named[name]; given {
		return o.number(v)
	}
	return otherwise
}

// Milliseconds is an option such as 10s.
func (o Options) Milliseconds(name, otherwise string) int32 {
	return int32(Duration(o.t, o.Text(name, otherwise)).Milliseconds())
}

// Flag tells whether a word is there, and takes it away.
func (o *Options) Flag(name string) bool {
	i := slices.Index(o.Words, name)
	if i >= 0 {
		o.Words = slices.Delete(o.Words, i, i+1)
	}
	return i >= 0
}

// others are the names of all options but these, in order.
func (o Options) others(but ...string) (names []string) {
	for name := range o.named {
		if !slices.Contains(but, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (o Options) number(text string) int64 { return Number(o.t, text) }

// repeated reads "x*10" as ten times x.
func (o Options) repeated(text string) string {
	if what, times, found := strings.Cut(text, "*"); found {
		return strings.Repeat(what, int(o.number(times)))
	}
	return text
}

// Number reads one; a script that has none there fails.
func Number(t Failer, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return n
}

// Duration likewise.
func Duration(t Failer, text string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return d
}
