package consumer_test

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestEverySnippetOfTheGuideIsAnExample: what it shows compiles, and where it can, runs.
func TestEverySnippetOfTheGuideIsAnExample(t *testing.T) {
	var examples []string
	for _, path := range []string{"example_test.go", "example_shapes_test.go", "parallel/example_test.go", "prom/example_test.go"} {
		examples = append(examples, lines(t, path)...)
	}
	snippets := 0
	var snippet []string
	inside := false
	for _, line := range lines(t, "../docs/guide/consumer.md") {
		switch {
		case line == "```go":
			inside, snippet = true, nil
		case line == "```" && inside:
			inside = false
			snippets++
			if !contains(examples, snippet) {
				t.Errorf("no example has\n%s", strings.Join(snippet, "\n"))
			}
		case inside:
			snippet = append(snippet, line)
		}
	}
	if snippets < 10 {
		t.Errorf("the guide has %d snippets only", snippets)
	}
}

// lines are those of a file that are not empty, without their indentation.
func lines(t *testing.T, path string) (list []string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" {
			list = append(list, line)
		}
	}
	return list
}

func contains(all, part []string) bool {
	for i := range len(all) - len(part) + 1 {
		if slices.Equal(all[i:i+len(part)], part) {
			return true
		}
	}
	return false
}
