package events_test

import (
	"crypto/hmac"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/cronce/cronce/jobs/stock/events"
)

// A receiver checks the signature and its age, and answers 2xx once it has done its work. The same
// event may come again, so it remembers the Idempotency-Key.
func ExampleSign() {
	done := map[string]bool{}
	receive := func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		var at int64
		signature := r.Header.Get("Cronce-Signature")
		_, err2 := fmt.Sscanf(signature, "t=%d,", &at)
		signed := time.Unix(at, 0)
		if err != nil || err2 != nil || time.Since(signed) > 5*time.Minute ||
			!hmac.Equal([]byte(signature), []byte(events.Sign(signed, body, "0123456789abcdef"))) {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		if id := r.Header.Get("Idempotency-Key"); !done[id] {
			fmt.Println(string(body))
			done[id] = true // in the transaction that does the work
		}
	}
	const body = `{"id":"cronce:shop/o-1/1795207852937/paid","kind":"paid","order":"o-1"}`
	for _, signature := range []string{events.Sign(time.Now(), []byte(body), "0123456789abcdef"), "t=1795207852,v1=00"} {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		r.Header.Set("Idempotency-Key", "cronce:shop/o-1/1795207852937/paid")
		r.Header.Set("Cronce-Signature", signature)
		w := httptest.NewRecorder()
		receive(w, r)
		fmt.Println(w.Code)
	}
	// Output:
	// {"id":"cronce:shop/o-1/1795207852937/paid","kind":"paid","order":"o-1"}
	// 200
	// 403
}
