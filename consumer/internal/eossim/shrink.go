package eossim

import "github.com/skeinstream/skein/internal/simulation"

// Shrink takes out of a script what it does not need to keep on being what it is.
func Shrink(s *Script, is func(*Script) bool) *Script { return simulation.Shrink(s, smaller, is) }
