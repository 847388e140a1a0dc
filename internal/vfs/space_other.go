//go:build !linux && !darwin && !windows

package vfs

import "errors"

func space(string) (Space, error) { return Space{}, errors.ErrUnsupported }
