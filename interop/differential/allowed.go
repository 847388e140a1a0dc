package differential

import (
	"regexp"
	"strings"
)

// allowance is a difference that is wanted. Nothing else may differ.
type allowance struct {
	request string // the request's name; "" is any
	step    string // pattern of the step's text
	path    string // pattern of the line's path
	kafka   string // pattern of Kafka's value
	target  string // pattern of ours
	// reason is the beginning of the line of docs/differences.md that says why.
	reason string
}

func (a allowance) matches(s step, d difference) bool {
	request, _, _ := strings.Cut(s.text, " ")
	return (a.request == "" || a.request == request) &&
		match(a.step, s.text) && match(a.path, d.path) && match(a.kafka, d.kafka) && match(a.target, d.target)
}

func match(pattern, text string) bool {
	return pattern == "" || regexp.MustCompile("^(?:"+pattern+")$").MatchString(text)
}

// wanted are the differences between Kafka and Skein.
func wanted() []allowance {
	return []allowance{}
}
