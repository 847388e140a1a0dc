package result

import (
	"fmt"
	"math"
	"strings"
)

// Markdown is the table and the list of bars, misses first.
func (t *Table) Markdown() string {
	var b strings.Builder
	t.writeTable(&b)
	b.WriteString("\nA ratio above 1 means that Skein is that many times better, for rates as for costs.\n")
	t.writeBars(&b)
	return b.String()
}

func (t *Table) writeTable(b *strings.Builder) {
	head, rule := []string{""}, []string{"---"}
	for _, p := range Peers() {
		head, rule = append(head, p.Title()), append(rule, "---:")
	}
	for _, p := range Pairs() {
		head, rule = append(head, p.Title()), append(rule, "---:")
	}
	writeLine(b, head)
	writeLine(b, rule)
	for _, row := range t.ordered() {
		writeLine(b, t.line(row))
	}
}

func (t *Table) line(row Row) []string {
	title := row.Title
	if row.Unit != "" {
		title += " (" + row.Unit + ")"
	}
	if t.misses(row) {
		title = "**missed:** " + title
	}
	cells := []string{title}
	for _, p := range Peers() {
		cells = append(cells, t.figure(row, p))
	}
	for _, p := range Pairs() {
		cells = append(cells, t.ratio(row, p))
	}
	return cells
}

// figure is a peer's number; bold where it is ours and over its limit.
func (t *Table) figure(row Row, p Peer) string {
	v := t.Median(p, row.ID)
	if most, ok := Limit(row.Kind); ok && v > most && (p == Skein || p == SkeinOS) {
		return "**" + Number(v) + "**"
	}
	return Number(v)
}

// ratio is a gain; bold where it misses its bar.
func (t *Table) ratio(row Row, p Pair) string {
	gain := t.gain(row, p)
	text := Number(gain)
	if asked, ok := p.Bar(row.Kind); ok && gain < asked {
		return "**" + text + "**"
	}
	return text
}

func (t *Table) writeBars(b *strings.Builder) {
	verdicts := t.Verdicts()
	if len(verdicts) == 0 {
		return
	}
	missed := 0
	for _, v := range verdicts {
		if !v.Met() {
			missed++
		}
	}
	fmt.Fprintf(b, "\nBars: %d missed, %d met.\n\n", missed, len(verdicts)-missed)
	for _, v := range verdicts {
		word := "met"
		if !v.Met() {
			word = "**missed**"
		}
		who, asked := v.sides()
		fmt.Fprintf(b, "- %s: %s, %s: asked %s, got %s\n", word, v.Row.Title, who, asked, Number(v.Got))
	}
}

func writeLine(b *strings.Builder, cells []string) {
	b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

// Number writes a value with about three digits; a dash when it was not measured.
func Number(v float64) string {
	switch {
	case math.IsNaN(v):
		return "–"
	case math.Abs(v) >= 100:
		return thousands(int64(math.Round(v)))
	case math.Abs(v) >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// thousands sets commas, as in 12,345.
func thousands(n int64) string {
	text := fmt.Sprint(n)
	for at := len(text) - 3; at > 0 && text[at-1] != '-'; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
