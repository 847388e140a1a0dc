//go:build race

package broker

// underRace says that the race detector makes everything ten times slower.
const underRace = true

// stride: of so many cases of an enumeration one is looked at under the race detector, and all without it; make test does both.
const stride = 11
