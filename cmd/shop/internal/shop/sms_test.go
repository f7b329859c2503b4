package shop

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/shop/internal/settings"
	"github.com/cronce/cronce/jobs/sms"
)

// The gateway's token is the token in the file at the time of the request.
func TestTokenRotation(t *testing.T) {
	seen := make(chan string, 2)
	gateway := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen <- r.Header.Get("Authorization") }))
	defer gateway.Close()
	token := filepath.Join(t.TempDir(), "token")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(token, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("one\n")
	f := &settings.File{Config: *config.Default(os.LookupEnv), SMS: &settings.SMS{Gateway: "http", URL: gateway.URL, TokenFile: token}}
	g, err := smsGateway(f, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"one", "two"} {
		write(want + "\n")
		if err := g.Send(t.Context(), sms.Message{ID: "a", To: "+12025550123", Text: "x"}); err != nil {
			t.Fatal(err)
		}
		if got := <-seen; got != "Bearer "+want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
