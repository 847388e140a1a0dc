package main

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	interop "github.com/skeinstream/skein/interop/assign"
)

//go:embed peers/Bench.java
var javaSource []byte

// javaFlags give Kafka's classes room: no collection should be needed within a call.
var javaFlags = []string{"-Xmx6g", "-Xms2g", "-XX:+UseG1GC"}

// runJava times one of Kafka's assignors, client or server, in a Java machine of
// its own.
func runJava(ctx context.Context, kind string, g *group, h how) sample {
	classPath, err := interop.Compile(ctx, "Bench", javaSource)
	if err != nil {
		return sample{Err: err.Error()}
	}
	cmd := exec.CommandContext(ctx, "java", append(javaFlags, "-cp", classPath, "Bench")...)
	cmd.Stdin = strings.NewReader(g.text(kind, h))
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return waited(cmd)
	}
	if err != nil {
		return sample{Err: fmt.Sprintf("%v: %s", err, firstLine(errs.String()))}
	}
	s, err := parseJava(string(out))
	if err != nil {
		return sample{Err: err.Error()}
	}
	if u, ok := maxResident(cmd); ok {
		s.Peak = u
	}
	return s
}

func parseJava(out string) (s sample, err error) {
	head, owners, _ := strings.Cut(out, "\n")
	var first, best, median int64
	if _, err := fmt.Sscan(head, &first, &best, &median, &s.Calls, &s.Allocated); err != nil {
		return s, fmt.Errorf("reading %q: %w", head, err)
	}
	s.First, s.Best, s.Median = time.Duration(first), time.Duration(best), time.Duration(median)
	for f := range strings.FieldsSeq(owners) {
		m, err := strconv.ParseInt(f, 10, 32)
		if err != nil {
			return s, err
		}
		s.Owner = append(s.Owner, int32(m))
	}
	return s, nil
}

// text is the group in the language of Bench.java.
func (g *group) text(kind string, h how) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d %t\n%s\n", kind, h.budget.Milliseconds(), h.processor, joined(g.topics, " "))
	for _, m := range g.members {
		fmt.Fprintln(&b, joined(m.topics, " "))
		for i, t := range sortedTopics(m.owned) {
			if i > 0 {
				b.WriteByte(' ')
			}
			if len(m.owned[t]) > 0 {
				fmt.Fprintf(&b, "%d:%s", t, joined(m.owned[t], ","))
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func joined(list []int32, by string) string {
	words := make([]string, len(list))
	for i, n := range list {
		words[i] = strconv.Itoa(int(n))
	}
	return strings.Join(words, by)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
