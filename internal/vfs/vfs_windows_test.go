package vfs_test

const isWindows = true
