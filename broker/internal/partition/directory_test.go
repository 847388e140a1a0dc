package partition

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skeinstream/skein/internal/vfs"
)

func TestAPartitionDirectoryOfKafkaTellsItsTopic(t *testing.T) {
	kafkas, err := os.ReadFile(filepath.Join("..", "storage", "testdata", "kafka-4.4", metadataFile))
	if err != nil {
		t.Fatal(err)
	}
	fs := vfs.NewMemory()
	put(t, fs, filepath.Join("t-0", metadataFile), string(kafkas))
	id, err := readMetadata(fs, "t-0")
	if err != nil || !strings.HasSuffix(string(kafkas), "topic_id: "+id.String()) {
		t.Errorf("%q is read as %s, %v", kafkas, id, err)
	}
}
