package shop

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/cmd/shop/internal/settings"
	"github.com/cronce/cronce/jobs/stock"
	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/scheduler"
	"github.com/cronce/cronce/scheduler/metrics"
)

// The settings restore and durability reach the sale. /readyz names the products that are not sold, and the metrics count them.
func TestOpen(t *testing.T) {
	for restore, auto := range map[string]bool{"": false, "manual": false, settings.RestoreAuto: true} {
		m := miniredis.RunT(t)
		client := redis.NewClient(&redis.Options{Addr: m.Addr()})
		defer client.Close()
		f := &settings.File{Config: *config.Default(nil)}
		f.Shop.Database.File = filepath.Join(t.TempDir(), "shop.db")
		f.Shop.Durability = settings.DurabilitySettled
		f.Shop.Restore = restore
		s, err := Open(f, client, true)
		must(t, err)
		defer s.Close()
		must(t, s.Sale.Probe(t.Context()))
		_, err = s.Sale.SetOffer(t.Context(), "tea", stock.Offer{Price: 100, Currency: "EUR"})
		must(t, err)
		_, err = s.Sale.Put(t.Context(), "tea", 5)
		must(t, err)
		m.HSet("cronce:v1:stock:{cronce:shop}:halted", "tea", "")
		must(t, s.Sale.Probe(t.Context()))
		if remarks := s.remarks(); len(remarks) != 1 || !strings.HasSuffix(remarks[0], "do not balance: tea") {
			t.Errorf("a product that does not balance: %q", remarks)
		}
		scrape := httptest.NewRecorder()
		s.metricsHandler(prometheus.NewRegistry()).ServeHTTP(scrape, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
		if !strings.Contains(scrape.Body.String(), "\ncronce_shop_products_closed 1\n") {
			t.Errorf("the metrics do not count the product that does not balance: %s", scrape.Body)
		}
		m.FlushAll()
		_ = s.Sale.Probe(t.Context()) // closes the shelf
		settle := stock.SettleOrders(s.Sale)
		_ = settle.Func(t.Context(), &scheduler.Run{ID: "r", Job: settle.Name, Fence: 2})
		if err := s.Sale.Probe(t.Context()); (err == nil) != auto {
			t.Errorf("%q: restored by the job: %v, want %v (%v)", restore, err == nil, auto, err)
		}
		must(t, s.db.Close())
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if _, _, err := s.Sale.Reserve(ctx, stock.Order{ID: "o", Receiver: "r", Items: []stock.Item{{SKU: "tea", Quantity: 1}}}); err == nil {
			t.Error("an order is acknowledged that the database does not have")
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// An event is signed with the new secret and with the old one.
func TestWebhookSecrets(t *testing.T) {
	f := &settings.File{Config: *config.Default(func(name string) (string, bool) { return "text of " + name, true })}
	secrets, err := webhookSecrets(f, "shop.events.webhook", &settings.Webhook{SecretEnv: "NEW", OldSecretEnv: "OLD"})
	must(t, err)
	if got := secrets(); !slices.Equal(got, []string{"text of NEW", "text of OLD"}) {
		t.Errorf("%q", got)
	}
}

// A shop that closes answers the request that it is serving.
func TestCloseShop(t *testing.T) {
	began, closing := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(began)
		select {
		case <-closing:
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	server.Config.RegisterOnShutdown(func() { close(closing) })
	go func() {
		<-began
		closeShop(server.Config)
	}()
	r, err := http.Get(server.URL)
	must(t, err)
	_ = r.Body.Close()
}

// Each duration of the scheduler reaches it.
func TestNodeDurations(t *testing.T) {
	for name, wrong := range map[string]config.Scheduler{
		"grace":         {Grace: -1},
		"cancel_grace":  {CancelGrace: -1},
		"spread":        {Spread: config.Duration(time.Hour)}, // a negative one is no spread
		"store_timeout": {StoreTimeout: -1},
		"clock_warn":    {ClockWarn: -1},
	} {
		f := &settings.File{Config: *config.Default(nil)}
		f.Scheduler = wrong
		_, err := newNode(f, new(memlock.Store), nil, metrics.New(), slog.New(slog.DiscardHandler))
		if err == nil || !strings.Contains(err.Error(), "scheduler."+name+": is ") || exit.Code(err, true) != exit.WrongUsage {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A run has the grace of the file until its context ends.
func TestGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &settings.File{Config: *config.Default(nil)}
		f.Scheduler.Grace, f.Scheduler.CancelGrace = config.Duration(time.Minute), config.Duration(time.Second)
		ctx, stop := context.WithCancel(t.Context())
		var had time.Duration
		job := scheduler.Job{Name: "a", Spec: "@daily", Func: func(ctx context.Context, _ *scheduler.Run) error {
			stop()
			began := time.Now()
			<-ctx.Done()
			had = time.Since(began)
			return ctx.Err()
		}}
		node, err := newNode(f, new(memlock.Store), []scheduler.Job{job}, metrics.New(), slog.New(slog.NewTextHandler(io.Discard, nil)))
		must(t, err)
		_ = node.Run(ctx)
		if had != time.Minute {
			t.Errorf("a run had %v, want a minute", had)
		}
	})
}

// A command that makes no SQLite file opens the database of a server, and the largest bounds of messages are accepted.
func TestAcceptedSettings(t *testing.T) {
	f := &settings.File{Config: *config.Default(func(name string) (string, bool) { return "postgres://u@127.0.0.1:1/shop", name == settings.DSNEnv })}
	db, _, err := openDatabase(f, false)
	must(t, err)
	defer db.Close()
	f.SMS = &settings.SMS{Batch: new(1_000_000), Concurrency: new(100), Rate: new(10_000), Attempts: new(1000)}
	must(t, smsBounds(f))
}
