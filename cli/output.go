package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// table prints rows in columns.
type table struct {
	w    io.Writer
	rows *[][]string
}

func newTable(w io.Writer, headings ...string) table {
	t := table{w, new([][]string)}
	*t.rows = append(*t.rows, headings)
	return t
}

func (t table) row(cells ...any) {
	words := make([]string, len(cells))
	for i, c := range cells {
		words[i] = visible(fmt.Sprint(c))
	}
	*t.rows = append(*t.rows, words)
}

// flush prints the rows. Columns are as wide as their widest cell, and empty
// cells at the end of a row leave no trace.
func (t table) flush() {
	var widths []int
	for _, row := range *t.rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range *t.rows {
		var line strings.Builder
		for i, cell := range row {
			line.WriteString(cell)
			line.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2))
		}
		fmt.Fprintln(t.w, strings.TrimRight(line.String(), " "))
	}
}

// visible shows what would move the cursor, or worse, as Go writes it: names
// and texts of others come from anybody.
func visible(s string) string {
	if !strings.ContainsFunc(s, unicode.IsControl) {
		return s
	}
	quoted := strconv.QuoteToGraphic(s)
	return quoted[1 : len(quoted)-1]
}

// visibleLines writes text with everything but its line ends visible. Each
// Write has whole characters.
type visibleLines struct{ io.Writer }

func (v visibleLines) Write(b []byte) (int, error) {
	lines := strings.Split(string(b), "\n")
	for i := range lines {
		lines[i] = visible(lines[i])
	}
	if _, err := io.WriteString(v.Writer, strings.Join(lines, "\n")); err != nil {
		return 0, err
	}
	return len(b), nil
}

// bytesText is a size for people: 1.5 MiB.
func bytesText(n int64) string {
	const step = 1024
	if n < step {
		return fmt.Sprintf("%d B", n)
	}
	value, unit := float64(n)/step, 0
	units := []string{"KiB", "MiB", "GiB", "TiB", "PiB"}
	for value >= step && unit < len(units)-1 {
		value, unit = value/step, unit+1
	}
	return fmt.Sprintf("%.1f %s", value, units[unit])
}

// count is a number with its noun: 1 record, 2 records.
func count[N int | int32 | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func joinInts(numbers []int32) string {
	words := make([]string, len(numbers))
	for i, n := range numbers {
		words[i] = strconv.Itoa(int(n))
	}
	return strings.Join(words, ",")
}

// offsetText shows an offset, or a dash when it is not known.
func offsetText(offset *int64) string {
	if offset == nil {
		return "-"
	}
	return strconv.FormatInt(*offset, 10)
}
