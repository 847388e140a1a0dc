//go:build race

package onebounce

const underRace = true
