//go:build race

package groupsim

const raced = true
