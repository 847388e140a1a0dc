//go:build linux || darwin

package vfs

import (
	"os"

	"golang.org/x/sys/unix"
)

func space(dir string) (Space, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return Space{}, &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	block := int64(st.Bsize)
	return Space{Total: int64(st.Blocks) * block, Free: int64(st.Bavail) * block}, nil
}
