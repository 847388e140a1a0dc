package differential

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A script in testdata/groups is a fixed sequence of requests about groups, one
// a line, whose answers are compared. It says nothing of what the answers are:
// Kafka does. Lines are
//
//	topic NAME PARTITIONS, drop NAME, trim at=NAME/PARTITION before=OFFSET (DeleteRecords)
//	join PLAYER, sync PLAYER, heartbeat PLAYER, leave ID…, commit PLAYER
//	fetch GROUP…, forget (OffsetDelete), describe GROUP…, list, delete GROUP…, find KEY…
//	wait DURATION, until PLAYER (its waiting request is answered)
//
// with KEY=VALUE for what differs from the usual: v (the version), as (who is
// meant: see cast.id; "none" is no id), instance, group, and what each request
// has. A group is "g" and everything is within the names of the run.
type scriptReader struct {
	prefix string
	p      *pair
	w      *world
}

type command struct {
	verb  string
	words []string
	keys  map[string]string
}

func parseCommand(line string) command {
	words := strings.Fields(line)
	c := command{verb: words[0], keys: make(map[string]string)}
	for _, word := range words[1:] {
		if key, value, ok := strings.Cut(word, "="); ok {
			c.keys[key] = value
		} else {
			c.words = append(c.words, word)
		}
	}
	return c
}

// text takes the value of a key, or the usual one.
func (c command) text(key, usual string) string {
	v, ok := c.keys[key]
	if !ok {
		return usual
	}
	delete(c.keys, key)
	switch v {
	case "none", `""`:
		return ""
	case "empty":
		return `""`
	}
	return v
}

func (c command) number(key string, usual int64) int64 {
	n, err := strconv.ParseInt(c.text(key, fmt.Sprint(usual)), 10, 64)
	if err != nil {
		panic(fmt.Sprintf("%s of %s: %v", key, c.verb, err))
	}
	return n
}

func (c command) version(usual int16) int16 { return int16(c.number("v", int64(usual))) }

func (c command) who() string {
	if len(c.words) == 0 {
		return ""
	}
	return c.words[0]
}

// name puts a name within those of the run. "-" is the empty name.
func (r scriptReader) name(name string) string {
	if name == "-" {
		return ""
	}
	return r.prefix + name
}

func (r scriptReader) names(words []string) []string {
	all := []string{}
	for _, word := range words {
		all = append(all, r.name(word))
	}
	return all
}

func (r scriptReader) group(c command) string { return r.name(c.text("group", "g")) }

// steps reads a whole script.
func (r scriptReader) steps(script string) ([]step, error) {
	var steps []step
	for i, line := range strings.Split(script, "\n") {
		line, _, _ = strings.Cut(line, "#")
		if strings.TrimSpace(line) == "" {
			continue
		}
		c := parseCommand(line)
		for n := c.number("times", 1); n > 0; n-- {
			once := command{c.verb, c.words, maps.Clone(c.keys)}
			s, err := r.step(once)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
			for key := range once.keys {
				return nil, fmt.Errorf("line %d: %s has no %s", i+1, c.verb, key)
			}
			steps = append(steps, s)
		}
	}
	return steps, nil
}

func (r scriptReader) step(c command) (step, error) {
	switch c.verb {
	case "topic":
		partitions, err := strconv.Atoi(c.words[1])
		spec := topicSpec{name: r.name(c.words[0]), partitions: int32(partitions), replicas: 1}
		return r.w.createStep([]topicSpec{spec}, false), err
	case "drop":
		return dropStep(r.name(c.who())), nil
	case "trim":
		return r.w.trimStep(r.txnPlaces(c)[0], c.number("before", 0), 2), nil
	case "wait":
		d, err := time.ParseDuration(c.who())
		return step{text: "wait " + c.who(), wait: wait{pause: d}}, err
	case "until":
		return step{text: "until " + c.who() + " is answered", wait: wait{until: c.who()}}, nil
	}
	if s, ok := r.memberStep(c); ok {
		return s, nil
	}
	if s, ok := r.groupStep(c); ok {
		return s, nil
	}
	if s, ok := r.txnStep(c); ok {
		return s, nil
	}
	return step{}, fmt.Errorf("there is no command %q", c.verb)
}

// playScripts runs the scripts of a folder, each under its file's name.
func playScripts(t *testing.T, p *pair, folder string) {
	pattern := filepath.Join("testdata", folder, "*.txt")
	if *scriptsFlag != "" {
		pattern = *scriptsFlag
	}
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scripts in %s: %v", folder, err)
	}
	for i, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			script, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			prefix := fmt.Sprintf("s%x-%s-%d-", os.Getpid(), folder, i)
			r := scriptReader{prefix: prefix, p: p, w: newWorld(uint64(i), prefix, p.ranges(), 0)}
			steps, err := r.steps(string(script))
			if err != nil {
				t.Fatal(err)
			}
			if *answersFlag {
				p.trace = t.Logf
			}
			f, err := p.runCase(prefix, steps)
			if err != nil {
				t.Fatal(err)
			}
			if f != nil {
				t.Fatalf("the answers differ\n%s", f.script())
			}
			if p.reached < len(steps) {
				t.Errorf("ended after step %d of %d", p.reached, len(steps))
			}
			for _, text := range p.skipped {
				t.Errorf("not asked: %s", text)
			}
		})
	}
}
