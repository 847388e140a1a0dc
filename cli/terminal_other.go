//go:build !unix

package cli

import "github.com/skeinstream/skein/cli/internal/demo/screen"

// terminalSize is how large terminals have always been: this system is not asked.
func terminalSize(any) screen.Size { return screen.Usual() }
