package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/skeinstream/skein/cli/internal/demo/screen"
	"github.com/skeinstream/skein/cli/internal/demo/stage"
	"github.com/skeinstream/skein/cli/internal/demo/story"
	"github.com/skeinstream/skein/internal/ownership"
)

// show is how a play is seen: as frames on a terminal, in lines elsewhere, or in lines of JSON.
type show struct {
	a     *app
	out   io.Writer
	where string
	style screen.Style
	began time.Time

	mu     sync.Mutex
	events []story.Event // that were not told yet
}

// frames is how often a terminal is drawn, and lines are written.
const frames = 100 * time.Millisecond

func (a *app) newShow(where string) *show {
	colour := isTerminal(a.env.Stdout) && a.env.Getenv("NO_COLOR") == "" && a.env.Getenv("TERM") != "dumb"
	return &show{a: a, out: a.env.Stdout, where: where, style: screen.Style{Colour: colour}}
}

// see takes what happens, for later.
func (s *show) see(e story.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.began.IsZero() {
		s.began = e.At
	}
	if e.Kind != ownership.Handled {
		s.events = append(s.events, e)
	}
}

// play shows it to its end, or to that of ctx.
func (s *show) play(ctx context.Context, play *stage.Play) (ownership.Verdict, error) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	drawn := s.draws()
	if drawn {
		fmt.Fprint(s.out, alternate)
		defer fmt.Fprint(s.out, normal)
	}
	var verdict ownership.Verdict
	over := make(chan error, 1)
	go func() {
		var err error
		verdict, err = play.Run(ctx)
		over <- err
	}()
	tick := time.NewTicker(frames)
	defer tick.Stop()
	for {
		var err error
		select {
		case err = <-over:
			return verdict, errors.Join(err, s.more(play, drawn))
		case <-tick.C:
			err = s.more(play, drawn)
		}
		if err != nil { // nobody can see it any more
			end()
			<-over
			return verdict, fmt.Errorf("writing the output: %w", err)
		}
	}
}

// What a terminal is told: to use its other screen without a cursor, and to go back.
const (
	alternate = "\x1b[?1049h\x1b[?25l\x1b[2J"
	normal    = "\x1b[?25h\x1b[?1049l"
)

// draws says that there is a terminal on which frames can be drawn.
func (s *show) draws() bool {
	return isTerminal(s.out) && !s.a.json && s.a.env.Getenv("TERM") != "dumb" && terminalSize(s.out).Fits()
}

// more shows what is new.
func (s *show) more(play *stage.Play, drawn bool) error {
	if !drawn {
		return s.tell()
	}
	var lines []string
	play.Look(func(state *story.State) { lines = screen.Frame(state, s.where, terminalSize(s.out), s.style) })
	_, err := io.WriteString(s.out, "\x1b[H"+strings.Join(lines, "\x1b[K\n")+"\x1b[K\x1b[J")
	return err
}

// tell writes the events that have come.
func (s *show) tell() error {
	s.mu.Lock()
	events := s.events
	s.events = nil
	s.mu.Unlock()
	for _, e := range events {
		if err := s.line(e); err != nil {
			return err
		}
	}
	return nil
}

func (s *show) line(e story.Event) error {
	if s.a.json {
		return s.a.encodeLine(s.out, screen.JSON(e))
	}
	line := screen.Plain(e, s.began)
	if line == "" {
		return nil
	}
	_, err := fmt.Fprintln(s.out, line)
	return err
}

// verdict shows what it has come to.
func (s *show) verdict(v ownership.Verdict) error {
	if s.a.json {
		return s.a.encodeLine(s.out, screen.JSONVerdict(v))
	}
	var text strings.Builder
	screen.Verdict(&text, v, s.style)
	if _, err := io.WriteString(s.out, text.String()); err != nil {
		return fmt.Errorf("writing the verdict: %w", err)
	}
	return nil
}
