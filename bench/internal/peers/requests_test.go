package peers

import (
	"maps"
	"strings"
	"testing"
)

func TestRequestsAreSummedUpByAPI(t *testing.T) {
	page := "# TYPE skein_requests_total counter\n" +
		`skein_requests_total{api="EndTxn",error="NONE"} 7` + "\n" +
		`skein_requests_total{api="EndTxn",error="PRODUCER_FENCED"} 2` + "\n" +
		`skein_requests_total{api="InitProducerID",error="NONE"} 1e+06` + "\n" +
		`skein_request_bytes_total{api="EndTxn"} 99` + "\n"
	got, err := parseMetrics(strings.NewReader(page))
	if want := (Requests{"endtxn": 9, "initproducerid": 1_000_000}); err != nil || !maps.Equal(got, want) {
		t.Errorf("the page says %v, %v; want %v", got, err, want)
	}
	if _, err := parseMetrics(strings.NewReader("nothing of requests")); err == nil {
		t.Error("a page without requests is taken")
	}
	got, err = parseCounts("EndTxn 9 InitProducerId 3")
	if want := (Requests{"endtxn": 9, "initproducerid": 3}); err != nil || !maps.Equal(got, want) {
		t.Errorf("the line says %v, %v; want %v", got, err, want)
	}
	for _, line := range []string{"", "EndTxn", "EndTxn many"} {
		if _, err := parseCounts(line); err == nil {
			t.Errorf("%q is taken", line)
		}
	}
	if more := got.Since(Requests{"endtxn": 4}); more["endtxn"] != 5 || more["initproducerid"] != 3 {
		t.Errorf("since then %v", more)
	}
}
