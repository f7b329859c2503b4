package shop

import (
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"
	"go.uber.org/zap/exp/zapslog"
	"go.uber.org/zap/zaptest/observer"

	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/shop/internal/settings"
)

// The gateway posts a receipt to a node; the token's file may be replaced meanwhile.
func TestReceiptsAreServed(t *testing.T) {
	m := miniredis.RunT(t)
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("first\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := &settings.File{Config: *config.Default(nil), SMS: &settings.SMS{Gateway: "console", Receipts: &settings.Receipts{Address: "127.0.0.1:0", TokenFile: token}}}
	client := redis.NewClient(&redis.Options{Addr: m.Addr()})
	defer client.Close()
	core, logs := observer.New(zap.InfoLevel)
	s, err := serveReceipts(f, client, slog.New(zapslog.NewHandler(core)))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	address := logs.FilterMessage("receipts served").All()[0].ContextMap()["address"]
	post := func(token string, want int) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, fmt.Sprintf("http://%s/sms/receipts", address), strings.NewReader(`{"id":"one","status":"delivered"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if answer.Body.Close(); answer.StatusCode != want {
			t.Errorf("with %s: %d, want %d", token, answer.StatusCode, want)
		}
	}
	post("first", http.StatusNoContent)
	post("second", http.StatusUnauthorized)
	if err := os.WriteFile(token, []byte("second\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	post("first", http.StatusUnauthorized)
	post("second", http.StatusNoContent)
}
