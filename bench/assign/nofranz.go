//go:build !franzsticky

package main

// franzImplementations is empty in the program that is run; the one it builds
// for franz-go has them.
func franzImplementations() map[string]implementation { return nil }
