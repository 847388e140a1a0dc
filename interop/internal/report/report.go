// Package report counts what an interop run did and what it could not do, so
// that a client that was missing, or a codec that a client lacks, is seen and
// never silently passed over.
//
// Each fact is a line beginning with INTEROP, printed when it happens and,
// when SKEIN_INTEROP_REPORT names a file, appended to it: go test hides the
// output of packages that pass.
package report

import (
	"fmt"
	"os"
	"sort"
	"strings"
	"sync"
	"testing"
)

const (
	// EnvFile names the file that collects the lines of all packages of a run.
	EnvFile = "SKEIN_INTEROP_REPORT"
	// EnvStrict set to 1 makes a missing peer a failure.
	EnvStrict = "SKEIN_INTEROP_STRICT"
)

// Kind is what a line tells.
type Kind string

const (
	Run     Kind = "RUN"     // a peer took part
	Missing Kind = "MISSING" // a peer could not be had on this machine
	Lacks   Kind = "LACKS"   // a client does not know something, by its own word
	Refused Kind = "REFUSED" // the broker refused something, as it must
	Shown   Kind = "SHOWN"   // a figure worth seeing: records compared, kills survived
)

var book struct {
	sync.Mutex
	lines map[Kind]map[string]string
}

// Note records one fact about subject. A second note about the same subject
// replaces the first.
func Note(t testing.TB, kind Kind, subject, format string, args ...any) {
	t.Helper()
	text := fmt.Sprintf(format, args...)
	book.Lock()
	if book.lines == nil {
		book.lines = make(map[Kind]map[string]string)
	}
	if book.lines[kind] == nil {
		book.lines[kind] = make(map[string]string)
	}
	book.lines[kind][subject] = oneLine(text)
	book.Unlock()
	t.Log(line(kind, subject, oneLine(text)))
}

// MissingPeer records that a peer could not be had. In strict mode the test
// fails.
func MissingPeer(t testing.TB, subject string, err error) {
	t.Helper()
	Note(t, Missing, subject, "%v", err)
	if os.Getenv(EnvStrict) == "1" {
		t.Errorf("%s is missing and %s=1: %v", subject, EnvStrict, err)
	}
}

// Main is the TestMain of a package that uses Note: it runs the tests and
// prints every line and the count.
func Main(m *testing.M) {
	code := m.Run()
	if text := summary(); text != "" {
		fmt.Print(text)
		if err := appendToFile(text); err != nil {
			fmt.Fprintln(os.Stderr, "interop: writing the report:", err)
			code = max(code, 1)
		}
	}
	os.Exit(code)
}

func summary() string {
	book.Lock()
	defer book.Unlock()
	var b strings.Builder
	for _, kind := range []Kind{Run, Shown, Lacks, Refused, Missing} {
		for _, subject := range sortedKeys(book.lines[kind]) {
			b.WriteString(line(kind, subject, book.lines[kind][subject]) + "\n")
		}
	}
	return b.String()
}

func line(kind Kind, subject, text string) string {
	return fmt.Sprintf("INTEROP %s %s: %s", kind, subject, text)
}

// Count makes the closing line out of the lines of one or more packages.
func Count(lines []string) string {
	seen := make(map[Kind]map[string]bool)
	for _, l := range lines {
		fields := strings.SplitN(l, " ", 3)
		if len(fields) < 3 || fields[0] != "INTEROP" {
			continue
		}
		subject, _, _ := strings.Cut(fields[2], ": ")
		if seen[Kind(fields[1])] == nil {
			seen[Kind(fields[1])] = make(map[string]bool)
		}
		seen[Kind(fields[1])][subject] = true
	}
	return fmt.Sprintf("interop: %d peers run, %d missing, %d things that clients lack, %d refusals as they must be",
		len(seen[Run]), len(seen[Missing]), len(seen[Lacks]), len(seen[Refused]))
}

func appendToFile(text string) error {
	name := os.Getenv(EnvFile)
	if name == "" {
		return nil
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(text)
	return err
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > 300 {
		s = s[:300] + "…"
	}
	return s
}
