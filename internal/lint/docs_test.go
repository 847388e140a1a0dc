package lint

import (
	"path"
	"strings"
	"testing"
)

// TestPackagesSayWhatTheyAreFor: a newcomer learns a room's purpose from its first comment.
func TestPackagesSayWhatTheyAreFor(t *testing.T) {
	docs := map[string]string{}
	for _, s := range sources(t) {
		if !s.isTest() {
			docs[s.room()] += s.file.Doc.Text()
		}
	}
	for dir, doc := range docs {
		if len(strings.Fields(doc)) < 8 {
			t.Errorf("package %s (%s) has no comment that says what it is for and where it stands in the journey: write one above the package clause", path.Base(dir), dir)
		}
	}
}
