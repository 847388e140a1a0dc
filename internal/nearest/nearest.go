// Package nearest finds the name that somebody who mistyped one most likely
// meant, for errors that say what to do.
package nearest

import (
	"strings"
	"unicode/utf8"
)

// Name returns the candidate that is most like name, or "" when none is
// close enough to be a likely slip: a third of its letters at most, and one
// for short names. Ties go to the earlier candidate.
func Name(name string, candidates []string) string {
	best, bestDistance := "", -1
	name = strings.ToLower(name)
	letters := utf8.RuneCountInString(name)
	for _, candidate := range candidates {
		c, most := strings.ToLower(candidate), allowed(candidate)
		if !isPart(name, c) {
			if tooLong := letters - utf8.RuneCountInString(c); max(tooLong, -tooLong) > most {
				continue // whatever the letters are, and however many
			}
		}
		d := distance(name, c)
		if d > most && !isPart(name, c) {
			continue
		}
		if bestDistance < 0 || d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	return best
}

func allowed(candidate string) int { return max(1, utf8.RuneCountInString(candidate)/3) }

// isPart says whether name is a recognisable piece of the candidate.
func isPart(name, candidate string) bool {
	return len(name) >= 4 && strings.Contains(candidate, name)
}

// distance counts the insertions, deletions, replacements and swaps of
// neighbours that turn a into b.
func distance(a, b string) int {
	s, t := []rune(a), []rune(b)
	before, prev, row := make([]int, len(t)+1), make([]int, len(t)+1), make([]int, len(t)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(s); i++ {
		row[0] = i
		for j := 1; j <= len(t); j++ {
			row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+cost(s[i-1], t[j-1]))
			if i > 1 && j > 1 && s[i-1] == t[j-2] && s[i-2] == t[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, prev, row = prev, row, before
	}
	return prev[len(t)]
}

func cost(a, b rune) int {
	if a == b {
		return 0
	}
	return 1
}
