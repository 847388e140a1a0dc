package exactlyonce_test

import (
	"os"
	"strings"
	"testing"
)

// TestEverySnippetOfTheGuideIsAnExample, and that of README: what they show compiles, and where it can, runs.
func TestEverySnippetOfTheGuideIsAnExample(t *testing.T) {
	examples := plain(file(t, "example_test.go")) + plain(file(t, "prom/example_test.go"))
	parts := strings.Split(file(t, "../docs/guide/exactly-once.md"), fence)
	if len(parts) < 7 {
		t.Errorf("the guide has %d snippets only", len(parts)-1)
	}
	of := strings.Split(file(t, "../README.md"), "## Exactly once")
	for _, part := range append(parts[1:], strings.Split(of[len(of)-1], fence)[1]) {
		snippet, _, _ := strings.Cut(part, "\n```")
		if !strings.Contains(examples, plain(snippet)) {
			t.Errorf("no example has\n%s", snippet)
		}
	}
}

// fence begins a piece of code.
const fence = "```go\n"

func file(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// plain is a text without empty lines and indentation.
func plain(text string) string {
	var out strings.Builder
	out.WriteString("\n")
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			out.WriteString(line + "\n")
		}
	}
	return out.String()
}
