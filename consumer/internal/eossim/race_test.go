//go:build race

package eossim

const raced = true
