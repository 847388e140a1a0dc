// Package transcript reads the sessions at a terminal that guides show, so that tests can go through them: every command in them is
// run, and what it prints is what stands there.
//
// A session is a fenced block of Markdown whose info string begins with "console". A line that begins with "$ " is a command, " &" at
// its end puts it into the background, and what follows "  # " is a remark. The lines below are printed by it, in that order,
// with others between; blanks at the ends do not count, and … stands for anything.
package transcript

import (
	"fmt"
	"strings"
)

// Session is one block.
type Session struct {
	Title string // what follows "console" in the info string
	Line  int    // of the fence, counted from 1
	Steps []Step
}

// Step is one command, and lines that it prints.
type Step struct {
	Line       int
	Command    string
	Background bool
	Prints     []string
}

// Parse finds the sessions of a text.
func Parse(markdown string) (sessions []Session, err error) {
	const fence = "```"
	var now *Session
	other := false // in a block that is no session
	for i, line := range strings.Split(markdown, "\n") {
		info, fenced := strings.CutPrefix(strings.TrimSpace(line), fence)
		title, console := strings.CutPrefix(info, "console")
		switch {
		case fenced && (now != nil || other):
			now, other = nil, false
		case fenced && console:
			sessions = append(sessions, Session{Title: strings.TrimSpace(title), Line: i + 1})
			now = &sessions[len(sessions)-1]
		case fenced:
			other = true
		case now != nil:
			if err := now.add(i+1, line); err != nil {
				return nil, err
			}
		}
	}
	return sessions, nil
}

func (s *Session) add(number int, line string) error {
	if command, is := strings.CutPrefix(line, "$ "); is {
		command, _, _ = strings.Cut(command, "  # ")
		command, background := strings.CutSuffix(strings.TrimSpace(command), " &")
		s.Steps = append(s.Steps, Step{Line: number, Command: strings.TrimSpace(command), Background: background})
		return nil
	}
	if strings.TrimSpace(line) == "" {
		return nil
	}
	if len(s.Steps) == 0 {
		return fmt.Errorf("line %d: %q is printed by no command: begin with \"$ \"", number, line)
	}
	last := &s.Steps[len(s.Steps)-1]
	last.Prints = append(last.Prints, strings.TrimSpace(line))
	return nil
}

// Missing returns the first line of Prints that an output lacks, or "".
func (s Step) Missing(output string) string {
	lines := strings.Split(output, "\n")
	for _, want := range s.Prints {
		at := 0
		for at < len(lines) && !like(strings.TrimSpace(lines[at]), want) {
			at++
		}
		if at == len(lines) {
			return want
		}
		lines = lines[at+1:]
	}
	return ""
}

// like compares a line with one in which … stands for anything.
func like(line, want string) bool {
	parts := strings.Split(want, "…")
	rest, begins := strings.CutPrefix(line, parts[0])
	if !begins {
		return false
	}
	for i, part := range parts[1:] {
		if i == len(parts)-2 {
			return strings.HasSuffix(rest, part)
		}
		_, after, found := strings.Cut(rest, part)
		if !found {
			return false
		}
		rest = after
	}
	return rest == ""
}
