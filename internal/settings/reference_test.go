package settings

import (
	"os"
	"testing"
)

func TestReferencePageIsFresh(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/settings.md")
	if err != nil || string(page) != Reference() {
		t.Errorf("docs/reference/settings.md is not what the tables say (%v): run go run ./internal/settings/gen", err)
	}
}
