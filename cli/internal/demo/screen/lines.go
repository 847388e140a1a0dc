package screen

import (
	"time"

	"github.com/skeinstream/skein/cli/internal/demo/story"
	"github.com/skeinstream/skein/internal/ownership"
)

// Plain is an event as a line for who has no terminal, "" if it is none of their concern.
func Plain(e story.Event, began time.Time) string {
	line, at := e.Line(), clock(e.At.Sub(began))
	switch {
	case line == "":
		return ""
	case e.Kind == ownership.Began:
		return at + " == " + line + ": " + e.Text
	case e.Kind == story.Stepped:
		return at + " -- " + line
	}
	return at + "    " + line
}

// line is an event as JSON has it. What does not belong to its kind is left out.
type line struct {
	Event      ownership.Kind `json:"event"`
	Time       time.Time      `json:"time"`
	Member     string         `json:"member,omitempty"`
	Code       string         `json:"code,omitempty"`
	Offers     []string       `json:"offers,omitempty"`
	Generation int32          `json:"generation,omitempty"`
	Assignor   string         `json:"assignor,omitempty"`
	Protocol   string         `json:"protocol,omitempty"`
	Leader     bool           `json:"leader,omitempty"`
	Partitions []int32        `json:"partitions,omitempty"`
	Offset     *int64         `json:"offset,omitempty"`
	Act        int            `json:"act,omitempty"`
	Title      string         `json:"title,omitempty"`
	Clean      bool           `json:"clean,omitempty"`
	Text       string         `json:"text,omitempty"`
}

// JSON is an event as a value that encodes into one line.
func JSON(e story.Event) any {
	l := line{
		Event: e.Kind, Time: e.At.UTC(), Member: e.Member, Generation: e.Generation, Assignor: e.Assignor, Leader: e.Leader,
		Partitions: e.Partitions, Text: e.Text,
	}
	switch e.Kind {
	case story.Started:
		l.Code, l.Offers = e.Code.String(), e.Code.Offers()
	case story.Completed, story.Switched:
		l.Protocol = story.ProtocolOf(e.Cooperative)
	case ownership.Committed:
		l.Offset = &e.First
	case ownership.Began:
		l.Event, l.Act, l.Title, l.Clean = "act", e.Act+1, e.Phase, e.Clean
	}
	return l
}

// JSONVerdict is a verdict as a value that encodes into one line.
func JSONVerdict(v ownership.Verdict) any {
	return struct {
		Event string `json:"event"`
		Good  bool   `json:"good"`
		ownership.Verdict
	}{"verdict", v.Good(), v}
}
