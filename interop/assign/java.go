// Package assign compares the assignors and the encodings of Skein with Kafka's
// own classes, taken from Maven, on thousands of random groups.
package assign

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/skeinstream/skein/interop/internal/maven"
	"github.com/skeinstream/skein/interop/internal/root"
	"github.com/skeinstream/skein/interop/proc"
)

// kafkaVersion is the release whose classes are asked.
const kafkaVersion = "4.4.0"

// script collects questions for java/Assign.java, whose comment tells the
// language; every question that has an answer carries what is done with it.
type script struct {
	text    bytes.Buffer
	answers []func(string)
}

func (s *script) say(format string, args ...any) { fmt.Fprintf(&s.text, format+"\n", args...) }

func (s *script) ask(answer func(string), format string, args ...any) {
	s.say(format, args...)
	s.answers = append(s.answers, answer)
}

// run asks one Java program everything and hands out the answers.
func (s *script) run(ctx context.Context) error {
	classPath, err := program(ctx, "Assign")
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "java", "-Xmx512m", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-cp", classPath, "Assign")
	cmd.Stdin = &s.text
	out, err := proc.Output(cmd)
	if err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(lines) != len(s.answers) {
		return fmt.Errorf("asked %d questions, got %d answers", len(s.answers), len(lines))
	}
	for i, answer := range s.answers {
		answer(lines[i])
	}
	return nil
}

// program compiles one of the Java programs beside this file; it returns the class
// path that runs it.
func program(ctx context.Context, class string) (classPath string, err error) {
	dir, err := root.Interop()
	if err != nil {
		return "", err
	}
	pom, err := os.ReadFile(filepath.Join(dir, "clients", "java", "pom.xml"))
	if err != nil {
		return "", err
	}
	libraries, err := maven.Libraries(ctx, "java-client", pom, kafkaVersion)
	if err != nil {
		return "", err
	}
	return maven.Compile(ctx, "java-"+strings.ToLower(class)+"-"+kafkaVersion, filepath.Join(dir, "assign", "java", class+".java"), libraries)
}
