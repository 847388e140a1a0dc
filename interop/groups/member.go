package groups

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/skeinstream/skein/interop/proc"
)

// member is a client in a process of its own. Its arguments are the bootstrap
// address, group, topic, client id, assignor, instance id ("-": a dynamic
// member), session timeout and heartbeat interval in milliseconds. What it does
// it says on standard output, one line an event: a stamp in microseconds, the
// kind, and what belongs to it. When its standard input ends it commits, says
// which partitions it gives up, leaves the group, and ends.
type member struct {
	name   string
	cmd    *exec.Cmd
	input  io.Closer
	errors *os.File
	seen   *observer
	read   chan struct{} // closed when its output has ended
	ended  bool
}

func startMember(o *observer, dir, name string, cmd *exec.Cmd) (*member, error) {
	p, err := proc.StartPiped(cmd, name, filepath.Join(dir, name+".stderr"))
	if err != nil {
		return nil, err
	}
	m := &member{name: name, cmd: cmd, input: p.Input, errors: p.Errors, seen: o, read: make(chan struct{})}
	o.add(event{at: now(), member: name, kind: revoked}) // it is there
	go m.listen(p.Output)
	return m, nil
}

// listen reads events until the process has ended.
func (m *member) listen(output io.Reader) {
	defer close(m.read)
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		e, err := parse(lines.Text())
		if err != nil {
			m.seen.fail("%s: %v", m.name, err)
			continue
		}
		e.member = m.name
		m.seen.add(e)
	}
}

// parse reads what a member says: STAMP assigned|revoked|lost P,P… or
// STAMP handled P FIRST LAST COUNT, or STAMP failed WHY.
func parse(line string) (event, error) {
	words := strings.Fields(line)
	if len(words) < 2 || words[1] == "failed" {
		return event{}, fmt.Errorf("it said %q", line)
	}
	at, err := strconv.ParseInt(words[0], 10, 64)
	e := event{at: at, kind: kind(words[1])}
	switch {
	case err != nil:
	case e.kind == handled:
		var p int32
		_, err = fmt.Sscan(strings.Join(words[2:], " "), &p, &e.first, &e.last, &e.count)
		e.partitions = []int32{p}
	case len(words) > 2:
		for _, word := range strings.Split(words[2], ",") {
			p, failed := strconv.ParseInt(word, 10, 32)
			if failed != nil {
				err = failed
			}
			e.partitions = append(e.partitions, int32(p))
		}
	}
	if err != nil {
		return e, fmt.Errorf("it said %q: %w", line, err)
	}
	return e, nil
}

// stop has the member leave, as its users would, and waits for its end.
func (m *member) stop(ctx context.Context) error {
	m.input.Close()
	select {
	case <-m.read:
	case <-time.After(patience):
		m.kill()
		return fmt.Errorf("%s does not end: %s", m.name, m.said())
	case <-ctx.Done():
		m.kill()
		return ctx.Err()
	}
	if err := m.wait(); err != nil {
		return fmt.Errorf("%s ended: %w: %s", m.name, err, m.said())
	}
	return nil
}

// kill is kill -9.
func (m *member) kill() {
	if m.ended {
		return
	}
	_ = m.cmd.Process.Kill()
	<-m.read
	_ = m.wait()
}

func (m *member) wait() error {
	err := m.cmd.Wait()
	m.ended = true
	m.errors.Close()
	m.seen.add(event{at: now(), member: m.name, kind: ended})
	return err
}

// said is the end of what it wrote to standard error.
func (m *member) said() string {
	text, _ := os.ReadFile(m.errors.Name())
	return string(text[max(0, len(text)-3000):])
}
