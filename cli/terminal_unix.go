//go:build unix

package cli

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/skeinstream/skein/cli/internal/demo/screen"
)

// terminalSize is how large the terminal behind w is; where it does not say, as large as terminals have always been.
func terminalSize(w any) screen.Size {
	if f, ok := w.(*os.File); ok {
		if z, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ); err == nil && z.Col > 0 && z.Row > 0 {
			return screen.Size{Columns: int(z.Col), Rows: int(z.Row)}
		}
	}
	return screen.Usual()
}
