package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"time"
)

// health is what the HTTP side asks of the broker.
type health interface {
	// Ready returns nil while the broker serves clients, else why not.
	Ready() error
	// Metrics serves the metrics in Prometheus' form.
	Metrics() http.Handler
}

// httpRoutes are the pages for people and machines that look after the
// broker.
func httpRoutes(h health, withPprof bool) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", h.Metrics())
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := h.Ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ready")
	})
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "skein\n\n/metrics\n/healthz\n/readyz\n")
	})
	if withPprof {
		mux.HandleFunc("/debug/pprof/", pprof.Index)
		mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	}
	return mux
}

// httpServer is a running HTTP side.
type httpServer struct {
	server http.Server
	done   chan struct{}
	err    error // set before done is closed
}

// httpPatience bounds how long a client may take to send its headers, and a
// shutdown waits for pages on their way.
const httpPatience = 5 * time.Second

func startHTTP(l net.Listener, routes http.Handler) *httpServer {
	s := &httpServer{server: http.Server{Handler: routes, ReadHeaderTimeout: httpPatience}, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		if err := s.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.err = fmt.Errorf("serving HTTP: %w", err)
		}
	}()
	return s
}

func (s *httpServer) stop(ctx context.Context) error {
	within, cancel := context.WithTimeout(ctx, httpPatience)
	defer cancel()
	if s.server.Shutdown(within) != nil {
		_ = s.server.Close() // a profile that runs for minutes is cut off
	}
	<-s.done
	return s.err
}
