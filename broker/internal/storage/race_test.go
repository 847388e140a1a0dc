//go:build race

package storage

// stride: of so many cases of an enumeration one is looked at under the race detector. It makes them six times as slow, and
// looks for races, of which what goes on in one goroutine has none. All cases are looked at without it; make test does both.
const stride = 11
