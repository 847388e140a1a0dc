package kafka

import (
	"context"
	"os"
	"path/filepath"

	"github.com/skeinstream/skein/interop/internal/maven"
)

// InstallStreams is Install of Kafka Streams and of the client that it uses,
// without the broker.
func InstallStreams(ctx context.Context, version string) (Tools, error) {
	pom, err := poms.ReadFile("testdata/streams.xml")
	if err != nil {
		return Tools{}, err
	}
	classPath, err := maven.Libraries(ctx, "streams", pom, version)
	if err != nil {
		return Tools{}, err
	}
	return Tools{Version: version, classPath: classPath}, nil
}

// Compile compiles a Java program of one class against the release, and returns
// the class path that runs it. It is compiled once, as long as it is the same.
func (k Tools) Compile(ctx context.Context, class string, source []byte) (classPath string, err error) {
	dir, err := os.MkdirTemp("", "skein-interop-java")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, class+".java")
	if err := os.WriteFile(name, source, 0o644); err != nil {
		return "", err
	}
	return maven.Compile(ctx, "java-"+class, name, k.classPath)
}
