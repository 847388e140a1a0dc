// Package screen draws the story of `skein demo upgrade`: one frame after the other for a terminal, and its verdict. It returns
// text; who shows it is the shell.
package screen

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/skeinstream/skein/cli/internal/demo/story"
)

// Size is that of a terminal, in characters.
type Size struct{ Columns, Rows int }

// Usual is the size of a terminal that does not say.
func Usual() Size { return Size{80, 24} }

// Fits says that frames can be drawn.
func (z Size) Fits() bool { return z.Columns >= 72 && z.Rows >= 21 }

// Frame is the whole picture, a line an element, and not larger than the terminal, which may have become small meanwhile.
func Frame(s *story.State, where string, z Size, style Style) []string {
	if !z.Fits() {
		return []string{cut("too small to draw: 72 by 21", z.Columns)}
	}
	lines := heading(s, where, z, style)
	lines = append(lines, style.dim(row(z, "MEMBER", "CODE", "OFFERS", "PROTOCOL", "GEN", "OWNS")))
	for _, m := range s.Members {
		lines = append(lines, member(s, m, z, style))
	}
	lines = append(lines, style.dim(tickerHeading(z)))
	for id := range s.Parts {
		lines = append(lines, ticker(s, id, z, style))
	}
	return append(lines, events(s, z.Rows-len(lines), z)...)
}

func heading(s *story.State, where string, z Size, style Style) []string {
	act := s.Acts[s.Act]
	assignor, protocol := s.InForce()
	force := "no generation yet"
	if assignor != "" {
		force = fmt.Sprintf("generation %d: %s, %s", s.Generation(), assignor, protocol)
	}
	if s.BrokerDown {
		force = "the broker is down"
	}
	return []string{
		sides(z, "skein demo upgrade  "+clock(s.Now.Sub(s.Began)), force, style.plain, style.bold),
		sides(z, fmt.Sprintf("%d/%d %s", s.Act+1, len(s.Acts), act.Title), where, style.bold, style.dim),
		cut(s.Text, z.Columns),
		style.dim(cut(act.Point, z.Columns)),
	}
}

// sides puts one text to the left and one to the right, which has the right of way up to two thirds.
func sides(z Size, left, right string, l, r func(string) string) string {
	right = cut(right, z.Columns*2/3)
	left = cut(left, max(0, z.Columns-width(right)-1))
	return l(left) + strings.Repeat(" ", max(1, z.Columns-width(left)-width(right))) + r(right)
}

// row has the columns of the members' table.
func row(z Size, name, code, offers, protocol, generation, owns string) string {
	return cut(strings.TrimRight(fmt.Sprintf("%-8s %-7s %-28s %-11s %4s  %s", name, code, offers, protocol, generation, owns), " "), z.Columns)
}

func member(s *story.State, m story.Member, z Size, style Style) string {
	switch {
	case m.Name == "":
		return style.dim(row(z, fmt.Sprintf("%d", m.Slot), "", "", "", "", ""))
	case !m.Alive:
		return style.dim(row(z, m.Name, m.Code.String(), m.End, "", "", ""))
	}
	name, protocol, owns := m.Name, story.ProtocolOf(m.Cooperative), story.Ranges(m.Owns)
	if m.Leader && s.Leader() == m.Slot {
		name += "*"
	}
	if m.Generation == 0 {
		protocol = ""
	}
	if m.Rebalancing {
		owns = strings.TrimSpace(owns + " …")
	}
	return style.slot(m.Slot, row(z, name, m.Code.String(), "["+strings.Join(m.Code.Offers(), ", ")+"]", protocol, number(int64(m.Generation)), owns))
}

// The columns around a ticker.
const (
	before = 4  // "11  "
	after  = 19 // "  owner    records"
)

func cells(z Size) int { return z.Columns - before - after }

func tickerHeading(z Size) string {
	text := fmt.Sprintf("WHO HANDLES RECORDS (· NOBODY), LAST %d S", int(float64(cells(z))*story.Cell.Seconds()))
	return fmt.Sprintf("%2s  %-*s  %-6s  %9s", "P", cells(z), cut(text, cells(z)), "OWNER", "RECORDS")
}

func ticker(s *story.State, id int, z Size, style Style) string {
	p := s.Parts[id]
	shown := p.Cells[max(0, len(p.Cells)-cells(z)):]
	var b strings.Builder
	b.WriteString(strings.Repeat(" ", cells(z)-len(shown)))
	for i := 0; i < len(shown); {
		j := i
		for j < len(shown) && shown[j] == shown[i] {
			j++
		}
		b.WriteString(run(shown[i], j-i, style))
		i = j
	}
	owner := "nobody"
	if p.Owner > 0 {
		owner = s.Members[p.Owner-1].Name
	}
	return fmt.Sprintf("%2d  %s  %s  %9d", id, b.String(), style.slot(p.Owner, fmt.Sprintf("%-6s", cut(owner, 6))), p.Handled)
}

// run is a part of a ticker in which nothing changes.
func run(slot, n int, style Style) string {
	if slot == 0 {
		return style.slot(0, strings.Repeat("·", n))
	}
	return style.slot(slot, strings.Repeat(fmt.Sprint(slot), n))
}

// events are the newest lines, as many as there is room for.
func events(s *story.State, room int, z Size) (lines []string) {
	for _, l := range s.Lines[max(0, len(s.Lines)-max(0, room)):] {
		lines = append(lines, cut(clock(l.At.Sub(s.Began))+" "+l.Text, z.Columns))
	}
	return lines
}

// number is empty for 0.
func number(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// clock is how long the play has lasted: 1:02.3.
func clock(d time.Duration) string {
	return fmt.Sprintf("%d:%04.1f", int(d.Minutes()), (d % time.Minute).Truncate(100*time.Millisecond).Seconds())
}

func width(text string) int { return utf8.RuneCountInString(text) }

// cut shortens text without colours to a width.
func cut(text string, columns int) string {
	if width(text) <= columns {
		return text
	}
	if columns < 1 {
		return ""
	}
	return string([]rune(text)[:columns-1]) + "…"
}
