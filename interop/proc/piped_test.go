package proc

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestAPipedChildIsSpokenWith(t *testing.T) {
	log := filepath.Join(t.TempDir(), "stderr")
	cmd := exec.Command("sh", "-c", "echo so >&2; cat")
	p, err := StartPiped(cmd, "echo", log)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Errors.Close()
	if _, err := io.WriteString(p.Input, "hello"); err != nil {
		t.Fatal(err)
	}
	p.Input.Close()
	said, err := io.ReadAll(p.Output)
	if err != nil || string(said) != "hello" {
		t.Errorf("it said %q, %v", said, err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if kept, err := os.ReadFile(log); err != nil || string(kept) != "so\n" {
		t.Errorf("kept is %q, %v", kept, err)
	}
	_, err = StartPiped(exec.Command(filepath.Join(t.TempDir(), "none")), "the client", log)
	if err == nil || !strings.Contains(err.Error(), "starting the client") {
		t.Errorf("a program that is not there: %v", err)
	}
}
