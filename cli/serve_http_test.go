package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

type sick struct{ err error }

func (s sick) Ready() error { return s.err }

func (sick) Metrics() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "skein_up 1") })
}

func TestHTTPSideTellsHealthReadinessAndMetrics(t *testing.T) {
	for _, c := range []struct {
		path  string
		ready error
		pprof bool
		code  int
		want  string
	}{
		{"/healthz", errors.New("recovering"), false, 200, "ok"},
		{"/readyz", errors.New("recovering"), false, 503, "recovering"},
		{"/readyz", nil, false, 200, "ready"},
		{"/metrics", nil, false, 200, "skein_up 1"},
		{"/", nil, false, 200, "/metrics"},
		{"/other", nil, false, 404, ""},
		{"/debug/pprof/", nil, false, 404, ""},
		{"/debug/pprof/", nil, true, 200, "goroutine"},
	} {
		w := httptest.NewRecorder()
		httpRoutes(sick{c.ready}, c.pprof).ServeHTTP(w, httptest.NewRequest("GET", c.path, nil))
		if w.Code != c.code || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s: %d %s", c.path, w.Code, w.Body.String())
		}
	}
}

func TestHTTPSideStopsCleanly(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := startHTTP(l, httpRoutes(sick{}, false))
	resp, err := http.Get("http://" + l.Addr().String() + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Error(err)
	}
	resp.Body.Close()
	if err := s.stop(context.Background()); err != nil {
		t.Error(err)
	}
}
