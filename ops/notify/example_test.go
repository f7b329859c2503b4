package notify_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"time"

	"github.com/cronce/cronce/internal/outbound"
)

func receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	var at int64
	signature := r.Header.Get("Cronce-Signature")
	_, _ = fmt.Sscanf(signature, "t=%d,", &at)
	mac := hmac.New(sha256.New, []byte(os.Getenv("WEBHOOK_SECRET")))
	fmt.Fprintf(mac, "%d.%s", at, body)
	want := fmt.Sprintf("t=%d,v1=%x", at, mac.Sum(nil))
	if err != nil || !hmac.Equal([]byte(signature), []byte(want)) || time.Since(time.Unix(at, 0)) > 5*time.Minute {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	var alert struct{ Action, Key, Summary string }
	if json.Unmarshal(body, &alert) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	fmt.Println(alert.Action, alert.Key) // open or close the incident of this key; a repeat changes nothing
}

// A receiver of the webhook checks the signature and its age.
func Example_receiver() {
	_ = os.Setenv("WEBHOOK_SECRET", "0123456789abcdef")
	const body = `{"action":"trigger","key":"shop/fleet","kind":"fleet","namespace":"shop","summary":"No node lives: nothing starts."}`
	for _, signature := range []string{outbound.Sign(time.Now(), []byte(body), "0123456789abcdef"), "t=1795207852,v1=00"} {
		r := httptest.NewRequest(http.MethodPost, "/hook", strings.NewReader(body))
		r.Header.Set("Cronce-Signature", signature)
		w := httptest.NewRecorder()
		receive(w, r)
		fmt.Println(w.Code)
	}
	// Output:
	// trigger shop/fleet
	// 200
	// 403
}
