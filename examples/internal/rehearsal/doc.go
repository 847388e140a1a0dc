// Package rehearsal plays the examples for tests: in one process, at a broker in memory, on fake time, with workers that crash between any two
// requests.
package rehearsal
