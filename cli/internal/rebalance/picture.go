package rebalance

import (
	"fmt"
	"html"
	"io"
	"strings"
)

// The picture's measures in pixels, and its colours. Every member has a row with
// two bars: what it has, and what it will have.
const (
	rowHeight  = 34
	barHeight  = 12
	labelWidth = 260
	barsWidth  = 620
	headHeight = 64

	colourLoses = "#c0392b"
	colourKeeps = "#7f8c8d"
	colourGets  = "#2e86c1"
)

// SVG draws the loads of all members before and after.
func (out Outcome) SVG(w io.Writer) error {
	p := painter{scale: out.scale()}
	p.add(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">`,
		labelWidth+barsWidth+80, headHeight+rowHeight*len(out.Members)+10)
	p.add(`<rect width="100%%" height="100%%" fill="white"/>`)
	p.text(10, 22, "16", fmt.Sprintf("%s: %d stay, %d move, %d had no owner", out.Assignor, out.Stay, out.Move, out.Free))
	x := 10
	for _, l := range []struct{ colour, word string }{{colourKeeps, "kept"}, {colourLoses, "lost"}, {colourGets, "gained"}} {
		p.add(`<rect x="%d" y="36" width="12" height="12" fill="%s"/>`, x, l.colour)
		p.text(x+18, 46, "12", l.word)
		x += 90
	}
	for i, m := range out.Members {
		p.member(headHeight+i*rowHeight, m)
	}
	p.add("</svg>")
	_, err := io.WriteString(w, p.b.String())
	return err
}

func (out Outcome) scale() float64 {
	most := 1
	for _, m := range out.Members {
		most = max(most, m.Now, m.Then)
	}
	return barsWidth / float64(most)
}

type painter struct {
	b     strings.Builder
	scale float64
}

func (p *painter) add(format string, args ...any) { fmt.Fprintf(&p.b, format+"\n", args...) }

func (p *painter) text(x, y int, size, text string) {
	p.add(`<text x="%d" y="%d" font-size="%s" fill="#222">%s</text>`, x, y, size, html.EscapeString(text))
}

func (p *painter) member(y int, m MemberOutcome) {
	name := m.Member
	switch {
	case m.Left:
		name += " (leaves)"
	case m.Joined:
		name += " (joins)"
	}
	if r := []rune(name); len(r) > 38 {
		name = string(r[:37]) + "…"
	}
	p.text(10, y+18, "12", name)
	keeps := m.Now - m.Loses
	p.bar(y+3, 0, keeps, colourKeeps)
	p.bar(y+3, keeps, m.Loses, colourLoses)
	p.bar(y+3+barHeight+2, 0, keeps, colourKeeps)
	p.bar(y+3+barHeight+2, keeps, m.Gets, colourGets)
	p.text(labelWidth+barsWidth+10, y+20, "12", fmt.Sprintf("%d → %d", m.Now, m.Then))
}

func (p *painter) bar(y, from, n int, colour string) {
	if n > 0 {
		p.add(`<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>`, labelWidth+float64(from)*p.scale, y, float64(n)*p.scale, barHeight, colour)
	}
}

// HTML is the picture in a page, with the partitions that change hands below it.
func (out Outcome) HTML(w io.Writer) error {
	var b strings.Builder
	b.WriteString("<!doctype html>\n<meta charset=\"utf-8\">\n<title>Rebalance</title>\n")
	b.WriteString("<style>body{font-family:sans-serif}td,th{text-align:left;padding:2px 12px 2px 0}</style>\n")
	if err := out.SVG(&b); err != nil {
		return err
	}
	b.WriteString("<table>\n<tr><th>partition<th>from<th>to\n")
	for _, t := range out.Transfers {
		fmt.Fprintf(&b, "<tr><td>%s-%d<td>%s<td>%s\n", html.EscapeString(t.Topic), t.Partition, html.EscapeString(t.From), html.EscapeString(t.To))
	}
	b.WriteString("</table>\n")
	_, err := io.WriteString(w, b.String())
	return err
}
