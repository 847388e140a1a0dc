package monitor

import (
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Request is one finished request.
type Request struct {
	Key       int16
	ErrorCode int16
	// Handling is the time until the handler finished it, Total until its response was written.
	Handling, Total   time.Duration
	BytesIn, BytesOut int64
}

// keysMax and codesMax bound what has a counter of its own; Kafka knows 93 keys and error codes up to 133. The last
// counter is for all the rest.
const (
	keysMax  = 128
	codesMax = 256
)

// requests counts by request key. Counters are made when a key is first seen.
type requests [keysMax]atomic.Pointer[requestCounters]

type requestCounters struct {
	byCode            [codesMax]atomic.Uint64 // index: error code + 1
	handling, total   histogram
	bytesIn, bytesOut atomic.Int64
}

// RequestFinished counts one request.
func (m *Monitor) RequestFinished(r Request) {
	c := m.requests.of(r.Key)
	c.byCode[min(uint16(r.ErrorCode+1), codesMax-1)].Add(1)
	c.handling.observe(r.Handling)
	c.total.observe(r.Total)
	c.bytesIn.Add(r.BytesIn)
	c.bytesOut.Add(r.BytesOut)
}

func (rs *requests) of(key int16) *requestCounters {
	p := &rs[min(uint16(key), keysMax-1)]
	if c := p.Load(); c != nil {
		return c
	}
	p.CompareAndSwap(nil, new(requestCounters))
	return p.Load()
}

var (
	requestsDesc = prometheus.NewDesc("skein_requests_total", "Finished requests by API and error; NONE is success.", []string{"api", "error"}, nil)
	totalDesc    = prometheus.NewDesc("skein_request_duration_seconds", "From a request's last byte read until its response was written.", []string{"api"}, nil)
	handlingDesc = prometheus.NewDesc("skein_request_handling_seconds", "From a request's last byte read until its answer was known: what it waits for behind slow readers is not in it.", []string{"api"}, nil)
	bytesInDesc  = prometheus.NewDesc("skein_request_bytes_total", "Bytes of requests, frames and headers included.", []string{"api"}, nil)
	bytesOutDesc = prometheus.NewDesc("skein_response_bytes_total", "Bytes of responses, frames and headers included.", []string{"api"}, nil)
)

// Describe implements prometheus.Collector.
func (rs *requests) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{requestsDesc, totalDesc, handlingDesc, bytesInDesc, bytesOutDesc} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (rs *requests) Collect(to chan<- prometheus.Metric) {
	for key := range rs {
		c := rs[key].Load()
		if c == nil {
			continue
		}
		api := apiName(key)
		for i := range c.byCode {
			if n := c.byCode[i].Load(); n > 0 {
				to <- prometheus.MustNewConstMetric(requestsDesc, prometheus.CounterValue, float64(n), api, errorName(i))
			}
		}
		to <- c.total.metric(totalDesc, api)
		to <- c.handling.metric(handlingDesc, api)
		to <- prometheus.MustNewConstMetric(bytesInDesc, prometheus.CounterValue, float64(c.bytesIn.Load()), api)
		to <- prometheus.MustNewConstMetric(bytesOutDesc, prometheus.CounterValue, float64(c.bytesOut.Load()), api)
	}
}

func apiName(key int) string {
	if key == keysMax-1 {
		return "other"
	}
	return kmsg.NameForKey(int16(key))
}

// errorName names the code with this index as Kafka does.
func errorName(index int) string {
	code := int16(index - 1)
	switch e := kerr.TypedErrorForCode(code); {
	case code == 0:
		return "NONE"
	case index == codesMax-1:
		return "other"
	case e != nil && e.Code == code:
		return e.Message
	}
	return strconv.Itoa(int(code))
}
