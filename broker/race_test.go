//go:build race

package broker

// underRace says that the race detector makes everything ten times slower.
const underRace = true
