package monitor

import "github.com/prometheus/client_golang/prometheus"

type connections struct {
	open   *prometheus.GaugeVec
	opened *prometheus.CounterVec
	closed *prometheus.CounterVec
}

func newConnections() connections {
	var c connections
	c.open = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "skein_connections", Help: "Open connections.",
	}, []string{"listener"})
	c.opened = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "skein_connections_opened_total", Help: "Connections accepted.",
	}, []string{"listener"})
	c.closed = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "skein_connections_closed_total", Help: "Connections closed or refused, by reason.",
	}, []string{"listener", "reason"})
	return c
}

// ConnectionOpened counts a connection in.
func (m *Monitor) ConnectionOpened(listener string) {
	m.connections.opened.WithLabelValues(listener).Inc()
	m.connections.open.WithLabelValues(listener).Inc()
}

// ConnectionClosed counts it out, for one of the few reasons that there are.
func (m *Monitor) ConnectionClosed(listener, reason string) {
	m.connections.closed.WithLabelValues(listener, reason).Inc()
	m.connections.open.WithLabelValues(listener).Dec()
}

// ConnectionRefused counts a connection that was never let in.
func (m *Monitor) ConnectionRefused(listener, reason string) {
	m.connections.closed.WithLabelValues(listener, reason).Inc()
}
