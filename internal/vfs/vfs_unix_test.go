//go:build !windows

package vfs_test

const isWindows = false
