// Package cache keeps what the interop tests download: client libraries,
// brokers, compiled client programs. It lies outside the source tree, is
// shared by all test binaries of a machine, and may be deleted at any time.
package cache

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// EnvDir names the environment variable that overrides where the cache lies.
const EnvDir = "SKEIN_INTEROP_CACHE"

// complete marks an entry whose build has succeeded.
const complete = ".complete"

// Dir is the cache's directory: $SKEIN_INTEROP_CACHE, or skein-interop in the
// user's own cache directory.
func Dir() (string, error) {
	if dir := os.Getenv(EnvDir); dir != "" {
		return filepath.Abs(dir)
	}
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding the cache directory (set %s): %w", EnvDir, err)
	}
	return filepath.Join(base, "skein-interop"), nil
}

// Entry returns the directory of the entry called name whose content is
// decided by pins (versions, sources). The first caller on the machine builds
// it; others, in this process or another, wait for that. A build that fails
// leaves nothing behind.
func Entry(ctx context.Context, name string, pins []byte, build func(ctx context.Context, dir string) error) (string, error) {
	base, err := Dir()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(base, 0o755); err != nil {
		return "", fmt.Errorf("making the cache directory: %w", err)
	}
	sum := sha256.Sum256(pins)
	dir := filepath.Join(base, name+"-"+hex.EncodeToString(sum[:6]))
	unlock, err := lock(dir + ".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(filepath.Join(dir, complete)); err == nil {
		return dir, nil
	}
	if err := rebuild(ctx, dir, build); err != nil {
		return "", fmt.Errorf("building cache entry %s: %w", name, err)
	}
	return dir, nil
}

func rebuild(ctx context.Context, dir string, build func(ctx context.Context, dir string) error) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := build(ctx, dir); err != nil {
		os.RemoveAll(dir)
		return err
	}
	return os.WriteFile(filepath.Join(dir, complete), nil, 0o644)
}

// lock takes an advisory lock that ends with the process at the latest.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening cache lock: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		f.Close()
		return nil, fmt.Errorf("taking cache lock: %w", err)
	}
	return func() { f.Close() }, nil
}
