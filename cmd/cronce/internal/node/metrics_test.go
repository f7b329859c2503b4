package node

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"
)

// A node answers four requests for its metrics at once, and refuses more, so that a scraper that
// repeats itself while the node is slow does not make it slower.
func TestMetricsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan struct{})
		gauge := func(name string, value func() float64) prometheus.Collector {
			return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: "For the test."}, value)
		}
		h := metricsHandler(gauge("slow", func() float64 { <-answer; return 1 }), gauge("stale", func() float64 { return 0 }))
		codes := map[int]int{}
		var mu sync.Mutex
		for range 6 {
			go func() {
				w := httptest.NewRecorder()
				h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
				mu.Lock()
				defer mu.Unlock()
				codes[w.Code]++
			}()
		}
		synctest.Wait()
		mu.Lock()
		refused := codes[http.StatusServiceUnavailable]
		mu.Unlock()
		close(answer)
		synctest.Wait()
		if refused != 2 || codes[http.StatusOK] != 4 {
			t.Errorf("%d were refused, then %v", refused, codes)
		}
	})
}
