// Package maven gets Java libraries from Maven into the cache and compiles
// small programs against them, with the ordinary mvn and javac.
package maven

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/skeinstream/skein/interop/internal/cache"
	"github.com/skeinstream/skein/interop/proc"
)

// copyDependencies is the pinned goal that lays a project's jars in a folder.
const copyDependencies = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"

// Libraries returns a Java class path that holds the dependencies of the
// project file pom with kafka.version set.
func Libraries(ctx context.Context, name string, pom []byte, kafkaVersion string) (classPath string, err error) {
	pins := append([]byte(kafkaVersion+"\n"), pom...)
	dir, err := cache.Entry(ctx, name+"-"+kafkaVersion, pins, func(ctx context.Context, dir string) error {
		return fill(ctx, dir, pom, kafkaVersion)
	})
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "*"), nil
}

func fill(ctx context.Context, dir string, pom []byte, kafkaVersion string) error {
	work, err := os.MkdirTemp("", "skein-interop-maven")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	file := filepath.Join(work, "pom.xml")
	if err := os.WriteFile(file, pom, 0o644); err != nil {
		return err
	}
	_, err = proc.Output(exec.CommandContext(ctx, "mvn", "-q", "-B", "-f", file, copyDependencies,
		"-Dkafka.version="+kafkaVersion, "-DincludeScope=runtime", "-DoutputDirectory="+dir))
	return err
}

// Compile compiles one source file against classPath and returns the class
// path that runs it.
func Compile(ctx context.Context, name, source, classPath string) (string, error) {
	text, err := os.ReadFile(source)
	if err != nil {
		return "", fmt.Errorf("reading the program to compile: %w", err)
	}
	pins := append([]byte(classPath+"\n"), text...)
	dir, err := cache.Entry(ctx, name, pins, func(ctx context.Context, dir string) error {
		_, err := proc.Output(exec.CommandContext(ctx, "javac", "-nowarn", "-encoding", "UTF-8", "-d", dir, "-cp", classPath, source))
		return err
	})
	if err != nil {
		return "", err
	}
	return dir + string(os.PathListSeparator) + classPath, nil
}
