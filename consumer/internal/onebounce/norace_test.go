//go:build !race

package onebounce

const underRace = false
