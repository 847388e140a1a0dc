package assign

import (
	"context"
	"os"
	"path/filepath"

	"github.com/skeinstream/skein/interop/internal/maven"
	"github.com/skeinstream/skein/interop/kafka"
)

// Compile compiles a Java program of one class against all of Kafka, the group
// coordinator included, and returns the class path that runs it.
func Compile(ctx context.Context, class string, source []byte) (classPath string, err error) {
	tools, err := kafka.Install(ctx, kafkaVersion)
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "skein-interop-java")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, class+".java")
	if err := os.WriteFile(name, source, 0o644); err != nil {
		return "", err
	}
	return maven.Compile(ctx, "java-"+class, name, tools.ClassPath())
}
