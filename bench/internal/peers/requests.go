package peers

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/skeinstream/skein/interop/kafka"
	"github.com/skeinstream/skein/interop/proc"
)

// Requests are how many requests a broker has answered since its start, by the
// name of their API in small letters.
type Requests map[string]int64

// Since is how many more they are than earlier.
func (r Requests) Since(earlier Requests) Requests {
	more := Requests{}
	for api, n := range r {
		more[api] = n - earlier[api]
	}
	return more
}

// ErrUncounted says that a broker was not started with Launcher.Counts.
var ErrUncounted = errors.New("the broker was not asked to count its requests")

// Requests asks the broker for its own count. It is for one goroutine.
func (b *Broker) Requests(ctx context.Context) (Requests, error) {
	if b.count == nil {
		return nil, ErrUncounted
	}
	r, err := b.count(ctx)
	if err != nil {
		return nil, fmt.Errorf("counting the broker's requests: %w", err)
	}
	return r, nil
}

// fromPages reads Skein's page of metrics.
func fromPages(url string) func(context.Context) (Requests, error) {
	return func(ctx context.Context) (Requests, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return nil, err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return nil, errors.New(resp.Status)
		}
		return parseMetrics(resp.Body)
	}
}

// parseMetrics sums lines such as skein_requests_total{api="Fetch",error="NONE"} 7
// up by their API.
func parseMetrics(text io.Reader) (Requests, error) {
	found := Requests{}
	lines := bufio.NewScanner(text)
	for lines.Scan() {
		rest, ok := strings.CutPrefix(lines.Text(), `skein_requests_total{api="`)
		if !ok {
			continue
		}
		api, rest, _ := strings.Cut(rest, `"`)
		n, err := strconv.ParseFloat(rest[strings.LastIndexByte(rest, ' ')+1:], 64)
		if err != nil {
			return nil, fmt.Errorf("reading %q: %w", lines.Text(), err)
		}
		found[strings.ToLower(api)] += int64(n)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, errors.New("the metrics tell of no requests")
	}
	return found, nil
}

//go:embed RequestCounts.java
var requestCounts []byte

// beans has Kafka offer its metrics on a port of the loopback interface.
func beans(port string) []string {
	const jmx = "-Dcom.sun.management.jmxremote."
	return []string{jmx + "host=127.0.0.1", "-Djava.rmi.server.hostname=127.0.0.1", jmx + "port=" + port, jmx + "rmi.port=" + port,
		jmx + "authenticate=false", jmx + "ssl=false"}
}

// teller is a Java program that is asked for Kafka's counts: it lives as long as
// the broker, so that a question costs next to nothing.
type teller struct {
	child *proc.Piped
	cmd   *exec.Cmd
	lines *bufio.Scanner
}

// startTeller compiles and starts the program, which looks for the broker when
// it is asked first.
func startTeller(ctx context.Context, tools kafka.Tools, dir, port string) (*teller, error) {
	classPath, err := tools.Compile(ctx, "RequestCounts", requestCounts)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("java", "-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-cp", classPath, "RequestCounts", port)
	child, err := proc.StartPiped(cmd, "the program that counts requests", filepath.Join(dir, "counts.stderr"))
	if err != nil {
		return nil, err
	}
	return &teller{child, cmd, bufio.NewScanner(child.Output)}, nil
}

func (t *teller) ask(context.Context) (Requests, error) {
	if _, err := io.WriteString(t.child.Input, "\n"); err != nil {
		return nil, err
	}
	if !t.lines.Scan() {
		return nil, errors.Join(errors.New("the program that asks Kafka has ended"), t.lines.Err())
	}
	return parseCounts(t.lines.Text())
}

// parseCounts reads "Fetch 7 Produce 3 ...".
func parseCounts(line string) (Requests, error) {
	words := strings.Fields(line)
	if len(words) == 0 || len(words)%2 != 0 {
		return nil, fmt.Errorf("reading Kafka's counts: %q", line)
	}
	found := Requests{}
	for i := 0; i < len(words); i += 2 {
		n, err := strconv.ParseInt(words[i+1], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("reading Kafka's counts: %w", err)
		}
		found[strings.ToLower(words[i])] += n
	}
	return found, nil
}

// stop has the program end.
func (t *teller) stop() error {
	t.child.Input.Close()
	_, _ = io.Copy(io.Discard, t.child.Output)
	t.child.Errors.Close()
	return t.cmd.Wait()
}
