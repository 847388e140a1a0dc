package monitor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Handler serves the monitor's pages:
//
//	/metrics       for Prometheus
//	/healthz       200 while the process is of use, 503 with the reason when it should be replaced
//	/readyz        200 while clients are served, 503 with the reason before and after
//	/debug/pprof/  profiles, with Config.Profiles
func (m *Monitor) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", m.metrics())
	mux.HandleFunc("GET /healthz", check(m.cfg.Healthy))
	mux.HandleFunc("GET /readyz", check(m.cfg.Ready))
	mux.HandleFunc("GET /{$}", m.index)
	if m.cfg.Profiles {
		mux.HandleFunc("/debug/pprof/", pprof.Index)
		mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	}
	return mux
}

// metrics warns of metrics that cannot be had. That somebody does not wait for them is no more than a debug line.
func (m *Monitor) metrics() http.Handler {
	page := promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog:      slog.NewLogLogger(m.cfg.Logger.Handler(), slog.LevelWarn),
		ErrorHandling: promhttp.ContinueOnError,
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to := &hangUp{ResponseWriter: w}
		page.ServeHTTP(to, r)
		if to.err != nil {
			m.cfg.Logger.Debug("who asked for metrics did not take them", "remote", r.RemoteAddr, "error", to.err)
		}
	})
}

// hangUp is a client that may go away: the first write that fails is kept, and what follows it is dropped. The page goes
// on after an error, and would report each of its metrics.
type hangUp struct {
	http.ResponseWriter
	err error
}

func (w *hangUp) Write(b []byte) (int, error) {
	if w.err == nil {
		_, w.err = w.ResponseWriter.Write(b)
	}
	return len(b), nil
}

// check answers with what f says; nil says that all is well.
func check(f func() error) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		if f != nil {
			if err := f(); err != nil {
				w.WriteHeader(http.StatusServiceUnavailable)
				fmt.Fprintln(w, err)
				return
			}
		}
		_, _ = io.WriteString(w, "ok\n")
	}
}

func (m *Monitor) index(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, "Skein broker\n\n/metrics\n/healthz\n/readyz\n")
	if m.cfg.Profiles {
		_, _ = io.WriteString(w, "/debug/pprof/\n")
	}
}

// Server serves a monitor's pages on listeners. Make one with NewServer.
type Server struct{ http http.Server }

// headerTimeout is how long a page's client may take to ask.
const headerTimeout = 10 * time.Second

// NewServer returns a server of m's pages.
func NewServer(m *Monitor) *Server {
	return &Server{http.Server{
		Handler:           m.Handler(),
		ReadHeaderTimeout: headerTimeout,
		ErrorLog:          slog.NewLogLogger(m.cfg.Logger.Handler(), slog.LevelDebug),
	}}
}

// Serve answers on l until Shutdown, then returns nil. It closes l.
func (s *Server) Serve(l net.Listener) error {
	if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving metrics: %w", err)
	}
	return nil
}

// Shutdown lets pages that are being read finish until ctx is done, then ends them.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, s.http.Close())
	}
	return err
}
