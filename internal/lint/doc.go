// Package lint keeps the house in order. It holds no code that ships: its
// tests read the source tree and fail, with the remedy, when
//
//   - a room imports one that the table in rooms.go does not grant it,
//   - a pure room reaches for a clock, a file, a socket, randomness or a goroutine,
//   - a test sleeps in real time, or runs a kgo client in a bubble without the tag it needs,
//   - a file or a function outgrows the ratchet in sizes.go,
//   - a package does not say what it is for.
//
// Changing the architecture on purpose is a one-line change to one of the
// tables here, made in the same commit as the code that wants it.
package lint
