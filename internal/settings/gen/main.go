// Command gen writes docs/reference/settings.md from the tables in internal/settings. Run it from the top of the
// project: go run ./internal/settings/gen
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/skeinstream/skein/internal/settings"
)

func main() {
	if err := write(filepath.Join("docs", "reference", "settings.md")); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func write(page string) error {
	if err := os.MkdirAll(filepath.Dir(page), 0o755); err != nil {
		return err
	}
	return os.WriteFile(page, []byte(settings.Reference()), 0o644)
}
