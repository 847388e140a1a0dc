package txns

import (
	"fmt"
	"strings"
)

// Command writes words as a shell reads them.
func Command(words ...string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quote(w)
	}
	return strings.Join(quoted, " ")
}

// plain are the characters, beside letters and digits, that no shell reads anything into.
const plain = "_-./:,=@%+"

func quote(word string) string {
	special := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(plain, r))
	}
	if word != "" && !strings.ContainsFunc(word, special) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// AbortCommand is the command line that ends what was found; connection are the options by which the cluster was reached. It
// is empty for what ends by itself.
func (f *Finding) AbortCommand(connection []string) string {
	words := []string{"skein", "txn", "abort"}
	switch f.Verdict {
	case Hanging:
		words = append(words, "--topic", f.Topic, "--partition", fmt.Sprint(f.Partition), "--start-offset", fmt.Sprint(*f.StartOffset))
	case Overdue:
		words = append(words, "--transactional-id", f.ID)
	default:
		return ""
	}
	return Command(append(append(words, connection...), "--execute")...)
}
