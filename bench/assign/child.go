package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/skeinstream/skein/assign"
)

// childVerb makes this program time one implementation in one scenario.
const childVerb = "child"

func runChild(args []string) {
	budget, _ := time.ParseDuration(args[2])
	h := how{budget, args[3] == "true"}
	s := sample{Err: "no such implementation or scenario"}
	for _, x := range scenarios() {
		if run := implementations()[args[0]]; x.name == args[1] && run != nil {
			s = run(x.make(), h)
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(s); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// children starts the processes.
type children struct {
	self, franz string
	dir         string
}

//go:embed peers/kgo_export.go.text
var franzExport []byte

func newChildren(ctx context.Context) (*children, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "skein-bench-assign")
	if err != nil {
		return nil, err
	}
	c := &children{self: self, dir: dir, franz: filepath.Join(dir, "franz")}
	if err := c.buildFranz(ctx); err != nil {
		c.close()
		return nil, fmt.Errorf("building franz-go's sticky balancer: %w", err)
	}
	return c, nil
}

func (c *children) close() { os.RemoveAll(c.dir) }

// buildFranz builds this program once more, against a copy of franz-go with one
// more file in kgo's package that hands out what is internal there.
func (c *children) buildFranz(ctx context.Context) error {
	modules := map[string]string{}
	for _, m := range []string{"github.com/twmb/franz-go", "github.com/skeinstream/skein", "github.com/skeinstream/skein/interop", "github.com/skeinstream/skein/bench"} {
		dir, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", m).Output()
		if err != nil {
			return fmt.Errorf("looking for %s: run it in the bench module: %w", m, err)
		}
		modules[m] = strings.TrimSpace(string(dir))
	}
	changed := filepath.Join(c.dir, "franz-go")
	if err := copyTree(changed, modules["github.com/twmb/franz-go"]); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(changed, "pkg", "kgo", "zz_export.go"), franzExport, 0o644); err != nil {
		return err
	}
	modfile := filepath.Join(c.dir, "bench.mod")
	for _, ext := range []string{".mod", ".sum"} {
		text, err := os.ReadFile(filepath.Join(modules["github.com/skeinstream/skein/bench"], "go"+ext))
		if err == nil {
			err = os.WriteFile(filepath.Join(c.dir, "bench"+ext), text, 0o644)
		}
		if err != nil {
			return err
		}
	}
	skein := modules["github.com/skeinstream/skein"]
	return c.goCommands(ctx,
		[]string{"mod", "edit", "-replace=github.com/twmb/franz-go=" + changed, "-replace=github.com/skeinstream/skein=" + skein,
			"-replace=github.com/skeinstream/skein/interop=" + modules["github.com/skeinstream/skein/interop"],
			"-replace=github.com/skeinstream/skein/assign/kgobalancer=" + filepath.Join(skein, "assign", "kgobalancer"),
			"-replace=github.com/skeinstream/skein/assign/saramabalancer=" + filepath.Join(skein, "assign", "saramabalancer"), modfile},
		[]string{"build", "-modfile", modfile, "-tags", "franzsticky", "-o", c.franz, "github.com/skeinstream/skein/bench/assign"})
}

func (c *children) goCommands(ctx context.Context, commands ...[]string) error {
	for _, args := range commands {
		if text, err := exec.CommandContext(ctx, "go", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("go %s: %w: %s", args[0], err, text)
		}
	}
	return nil
}

// copyTree copies a module out of the read-only cache.
func copyTree(to, from string) error {
	return filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), text, 0o644)
	})
}

// row is one scenario with what everyone did in it.
type row struct {
	Scenario                    string
	Members, Topics, Partitions int
	Samples                     map[string]sample
	Scores                      map[string]assign.Score
	// Optimal is the finding of assign.Verify, "" for a proof.
	Optimal map[string]string
}

func (c *children) row(ctx context.Context, o options, s scenario, progress io.Writer) (row, error) {
	began := time.Now()
	g := s.make()
	setup := 2*time.Since(began) + 3*time.Second // of a child, before it plans
	r := row{Scenario: s.name, Members: len(g.members), Topics: len(g.topics), Partitions: g.partitions(),
		Samples: map[string]sample{}, Scores: map[string]assign.Score{}, Optimal: map[string]string{}}
	in := g.input()
	for _, p := range o.peers {
		fmt.Fprintf(progress, "%s: %s … ", s.name, p)
		x := c.sample(ctx, o, s, p, g)
		if ctx.Err() != nil {
			return r, ctx.Err()
		}
		if x.Err == tooSlow {
			x.Best = max(0, min(x.Best, o.limit)-setup)
		}
		if x.Err != "" {
			fmt.Fprintln(progress, x.Err)
		} else {
			fmt.Fprintln(progress, x.Best)
			plan := g.plan(x.Owner)
			score, err := assign.Measure(in, plan)
			if err != nil {
				return r, fmt.Errorf("%s, %s: %w", s.name, p, err)
			}
			r.Scores[p] = score
			if err := assign.Verify(in, plan, assign.Options{}); err != nil {
				r.Optimal[p] = err.Error()
			}
		}
		x.Owner = nil
		r.Samples[p] = x
	}
	return r, nil
}

// plan is a plan from owners in numbers.
func (g *group) plan(owner []int32) assign.Plan {
	lists := make([][]assign.TopicPartitions, len(g.members))
	p := 0
	for t, n := range g.topics {
		parts := map[int32][]int32{}
		for i := range n {
			if m := owner[p]; m >= 0 {
				parts[m] = append(parts[m], i)
			}
			p++
		}
		for m, list := range parts {
			lists[m] = append(lists[m], assign.TopicPartitions{Topic: topicName(int32(t)), Partitions: list})
		}
	}
	return assign.PlanOf(lists)
}

func (c *children) sample(ctx context.Context, o options, s scenario, peer string, g *group) sample {
	ctx, cancel := context.WithTimeout(ctx, o.limit)
	defer cancel()
	if kind, java := strings.CutPrefix(peer, "java "); java {
		return runJava(ctx, kind, g, o.how)
	}
	program := c.self
	if strings.HasPrefix(peer, "franz-go") {
		program = c.franz
	}
	cmd := exec.CommandContext(ctx, program, childVerb, peer, s.name, o.budget.String(), strconv.FormatBool(o.processor))
	var errs bytes.Buffer
	cmd.Stderr = &errs
	text, err := cmd.Output()
	switch {
	case ctx.Err() != nil:
		return waited(cmd)
	case err != nil:
		return sample{Err: fmt.Sprintf("%v: %s", err, firstLine(errs.String()))}
	}
	var x sample
	if err := json.Unmarshal(text, &x); err != nil {
		return sample{Err: err.Error()}
	}
	return x
}

// waited is the sample of one that was ended: Best is the processor time it had.
func waited(cmd *exec.Cmd) sample {
	s := sample{Err: tooSlow}
	if p := cmd.ProcessState; p != nil {
		s.Best = p.UserTime() + p.SystemTime()
	}
	return s
}

// maxResident is the largest size of a process that has ended.
func maxResident(cmd *exec.Cmd) (int64, bool) {
	u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0, false
	}
	return u.Maxrss << 10, true
}
