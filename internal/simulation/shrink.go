package simulation

// Shrink takes out of a script what it does not need to keep on being what it is, by one of its smaller versions at a time.
func Shrink[Script any](s Script, smaller func(Script) []Script, is func(Script) bool) Script {
	for again := true; again; {
		again = false
		for _, c := range smaller(s) {
			if is(c) {
				s, again = c, true
				break
			}
		}
	}
	return s
}
