package member

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"time"
)

// skeinCommand is `skein consume --group --json`; command is where it lies.
func skeinCommand(command string) Client {
	return Client{Name: "skein consume --group", Assignors: []string{"default", "range", "roundrobin", "sticky"}, Static: true, json: true,
		Command: func(_ context.Context, args ...string) (*exec.Cmd, error) {
			if len(args) < 8 {
				return exec.Command(command, "consume", "--help"), nil
			}
			flags := []string{"consume", args[2], "--bootstrap", args[0], "--group", args[1], "--client-id", args[3], "--json",
				"--session-timeout", args[6] + "ms", "--heartbeat-interval", args[7] + "ms", "--commit-interval", "200ms"}
			if args[4] != "default" {
				flags = append(flags, "--assignors", args[4])
			}
			if args[5] != "-" {
				flags = append(flags, "--instance-id", args[5])
			}
			return exec.Command(command, flags...), nil
		}}
}

// jsonReader reads the lines of a `skein consume --group --json` that is told of
// one topic. Events carry their time. Records do not, but what is before them in
// the output was before them.
type jsonReader struct{ last int64 }

// jsonLine is a record or, with Event, an event.
type jsonLine struct {
	Event      string             `json:"event"`
	Time       time.Time          `json:"time"`
	Partitions map[string][]int32 `json:"partitions"`
	Offsets    []struct {
		Partition int32 `json:"partition"`
		Offset    int64 `json:"offset"`
	} `json:"offsets"`
	Error     string `json:"error"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
}

func (r *jsonReader) read(line string) (events []Event, err error) {
	var l jsonLine
	if err := json.Unmarshal([]byte(line), &l); err != nil {
		return nil, fmt.Errorf("it said %q: %w", line, err)
	}
	if l.Event == "" {
		return []Event{{At: r.last, Kind: Handled, Partitions: []int32{l.Partition}, First: l.Offset, Last: l.Offset, Count: 1}}, nil
	}
	at := l.Time.UnixMicro()
	r.last = max(r.last, at)
	switch kind := Kind(l.Event); kind {
	case Assigned, Revoked, Lost:
		e := Event{At: at, Kind: kind}
		for _, partitions := range l.Partitions {
			e.Partitions = append(e.Partitions, partitions...)
		}
		return []Event{e}, nil
	case Committed:
		for _, o := range l.Offsets {
			if l.Error == "" {
				events = append(events, Event{At: at, Kind: Committed, Partitions: []int32{o.Partition}, First: o.Offset})
			}
		}
	}
	return events, nil
}
