//go:build race

package assign_test

// raced: the race detector makes everything ten times slower, and what these
// tests look for is no race. They sample less under it, and run in full without.
const raced = true
