//go:build !race

package commit

const stride = 1
