package settings

import "strings"

// nearest returns the candidate that needs the fewest changed, added, lost or swapped letters to become name, or ""
// when even that one needs more than a third of its letters changed.
func nearest(name string, candidates []string) string {
	best, bestDistance := "", -1
	for _, c := range candidates {
		d := distance(strings.ToLower(name), strings.ToLower(c))
		if d <= max(1, len(c)/3) && (bestDistance < 0 || d < bestDistance) {
			best, bestDistance = c, d
		}
	}
	return best
}

// distance is the edit distance of a and b in bytes, where two neighbours that changed places count once.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+differ(a[i-1], b[j-1]))
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

func differ(a, b byte) int {
	if a == b {
		return 0
	}
	return 1
}
