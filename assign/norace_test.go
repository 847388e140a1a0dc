//go:build !race

package assign_test

const raced = false
