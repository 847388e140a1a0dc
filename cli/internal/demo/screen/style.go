package screen

// Style is how text is set off. Its zero value sets nothing off: who owns what is said by digits, too.
type Style struct{ Colour bool }

func (Style) plain(text string) string { return text }

func (y Style) code(code, text string) string {
	if !y.Colour || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (y Style) bold(text string) string { return y.code("1", text) }
func (y Style) dim(text string) string  { return y.code("2", text) }

// slot has a colour for each member's place; 0, for nobody, is red.
func (y Style) slot(slot int, text string) string {
	return y.code([...]string{"31", "32", "36", "35"}[slot], text)
}
