package cli

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// served is a `skein serve` that runs until stop.
type served struct {
	announcement
	out, err *output
	stop     func() int
}

func serveIn(t *testing.T, dir string, args ...string) served {
	t.Helper()
	out, errOut := newTap("}\n"), &output{}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() {
		ended <- Run(ctx, Env{
			Stdout: out, Stderr: errOut, Now: time.Now,
			Getenv: func(string) string { return "" }, Environ: func() []string { return nil },
		}, append([]string{"serve", "--json", "--data", dir, "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0"}, args...))
	}()
	s := served{out: &out.output, err: errOut, stop: func() int { cancel(); return <-ended }}
	select {
	case <-out.seen:
	case code := <-ended:
		t.Fatalf("exit %d: %s", code, errOut.String())
	}
	if err := json.Unmarshal([]byte(out.String()), &s.announcement); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	return s
}

func (s served) cluster(t *testing.T) cluster { return cluster{t, s.Listeners[0].Address} }

func TestServeKeepsDataOverAStop(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s := serveIn(t, dir, "--set", "num.partitions=2")
	c := s.cluster(t)
	c.want(c.do("topic", "create", "t"), "2 partitions")
	c.feed("kept\n", "produce", "t")
	if code := s.stop(); code != 0 {
		t.Errorf("exit %d: %s", code, s.err.String())
	}
	if strings.Count(s.out.String(), "\n") != 1 || strings.Contains(s.err.String(), "ERROR") {
		t.Errorf("said %q and %q", s.out.String(), s.err.String())
	}
	s = serveIn(t, dir)
	if got := s.cluster(t).do("consume", "t", "-e"); got != "kept\n" {
		t.Errorf("got %q", got)
	}
	if code := s.stop(); code != 0 {
		t.Errorf("exit %d: %s", code, s.err.String())
	}
}

func TestServeHasPagesForThoseWhoLookAfterIt(t *testing.T) {
	s := serveIn(t, t.TempDir(), "--pprof")
	for path, want := range map[string]string{"/healthz": "ok", "/readyz": "ok", "/metrics": "skein_", "/debug/pprof/": "goroutine"} {
		resp, err := http.Get("http://" + s.HTTP + path)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 200 || !strings.Contains(string(body), want) {
			t.Errorf("%s: %d %s", path, resp.StatusCode, body)
		}
	}
	s.stop()
}

func TestServeListensInSeveralPlaces(t *testing.T) {
	s := serveIn(t, t.TempDir(), "--listen", "out://127.0.0.1:0,advertised=localhost:19999")
	defer s.stop()
	if len(s.Listeners) != 2 || s.Listeners[1].Name != "OUT" || s.Listeners[1].Advertised != "localhost:19999" || s.Listeners[0].Advertised != "" {
		t.Fatalf("got %+v", s.Listeners)
	}
	c := cluster{t, s.Listeners[1].Address}
	c.want(c.fail(1, "", "topic", "create", "t", "--timeout", "2s"), "calls itself localhost:19999", "advertised")
}

func TestServeSaysWhyItCannotStart(t *testing.T) {
	dir := t.TempDir()
	s := serveIn(t, dir)
	defer s.stop()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args     []string
		what, do string
	}{
		{[]string{"--data", dir, "--listen", "127.0.0.1:0", "--http", ""}, "in use by another broker: stop it, or choose another directory\n  --data DIR names", ""},
		{[]string{"--data", t.TempDir(), "--listen", s.Listeners[0].Address, "--http", ""}, "address already in use", "--listen"},
		{[]string{"--data", t.TempDir(), "--listen", "127.0.0.1:0", "--http", s.HTTP}, "address already in use", "--http"},
		{[]string{"--data", file, "--listen", "127.0.0.1:0", "--http", ""}, "not a directory", ""},
	} {
		var sh shell
		code := sh.run(t.Context(), append([]string{"serve"}, c.args...)...)
		if out := sh.stderr.String(); code != 1 || !strings.Contains(out, c.what) || !strings.Contains(out, c.do) || sh.stdout.String() != "" {
			t.Errorf("%v: exit %d\n%s%s", c.args, code, out, sh.stdout.String())
		}
	}
}

func TestTheReadyLineIsForPeople(t *testing.T) {
	n := announcement{Data: "./d", HTTP: "127.0.0.1:8080", Listeners: []announcedPlace{{Name: "PLAINTEXT", Address: "127.0.0.1:9092"}, {"OUT", "[::]:9094", "kafka.example.com:9094"}}}
	want := "skein is ready: PLAINTEXT://127.0.0.1:9092, OUT://[::]:9094 (advertised as kafka.example.com:9094), data in ./d, http://127.0.0.1:8080\n"
	if got := n.text(); got != want {
		t.Errorf("got %q", got)
	}
}
