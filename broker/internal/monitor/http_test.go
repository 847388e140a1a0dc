package monitor

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestHealthAndReadiness(t *testing.T) {
	var broken, starting error
	m := New(Config{Healthy: func() error { return broken }, Ready: func() error { return starting }})
	for _, tt := range []struct {
		path   string
		err    *error
		reason error
	}{
		{"/healthz", &broken, errors.New("the log directory has failed")},
		{"/readyz", &starting, errors.New("still starting")},
	} {
		if status, body := get(t, m, tt.path); status != http.StatusOK || body != "ok\n" {
			t.Errorf("%s: %d %q, want 200 ok", tt.path, status, body)
		}
		*tt.err = tt.reason
		if status, body := get(t, m, tt.path); status != http.StatusServiceUnavailable || !strings.Contains(body, tt.reason.Error()) {
			t.Errorf("%s: %d %q, want 503 with the reason", tt.path, status, body)
		}
	}
	if status, _ := get(t, New(Config{}), "/healthz"); status != http.StatusOK {
		t.Errorf("without a check: %d, want 200", status)
	}
}

func TestProfilesOnlyBehindTheirFlag(t *testing.T) {
	for _, profiles := range []bool{false, true} {
		m := New(Config{Profiles: profiles})
		want := map[bool]int{false: http.StatusNotFound, true: http.StatusOK}[profiles]
		for _, path := range []string{"/debug/pprof/", "/debug/pprof/goroutine", "/debug/pprof/cmdline"} {
			if status, _ := get(t, m, path); status != want {
				t.Errorf("profiles %v: %s is %d, want %d", profiles, path, status, want)
			}
		}
		if _, body := get(t, m, "/"); strings.Contains(body, "pprof") != profiles {
			t.Errorf("profiles %v: the index says %q", profiles, body)
		}
	}
}

func TestOnlyWhatIsThere(t *testing.T) {
	m := New(Config{})
	if status, _ := get(t, m, "/nothing"); status != http.StatusNotFound {
		t.Errorf("status %d, want 404", status)
	}
}

func TestServeUntilShutdown(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := NewServer(New(Config{}))
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	client := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get("http://" + l.Addr().String() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || !strings.Contains(string(body), "skein_build_info") {
		t.Errorf("%v, %d bytes", err, len(body))
	}
	if err := s.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Errorf("Serve returned %v, want nil after Shutdown", err)
	}
}

func TestServeReturnsTheListenersError(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	s := NewServer(New(Config{}))
	if err := s.Serve(l); err == nil {
		t.Error("no error")
	}
	if err := s.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
}

// deaf is a client that has hung up.
type deaf struct{ http.ResponseWriter }

func (deaf) Write([]byte) (int, error) { return 0, net.ErrClosed }

func TestAClientThatHangsUpIsNoWarning(t *testing.T) {
	var logged strings.Builder
	log := slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	m := New(Config{Logger: log})
	m.Handler().ServeHTTP(deaf{httptest.NewRecorder()}, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if got := logged.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "level=DEBUG") {
		t.Errorf("want one line for the debugger, got:\n%s", got)
	}
	logged.Reset()
	m = New(Config{Logger: log, Space: func() (int64, int64, error) { return 0, 0, errors.New("no such disk") }})
	get(t, m, "/metrics")
	if got := logged.String(); !strings.Contains(got, "level=WARN") || !strings.Contains(got, "no such disk") {
		t.Errorf("want a warning of what cannot be had, got:\n%s", got)
	}
}
