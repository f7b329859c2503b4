package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/cronce/cronce/cmd/cronce/internal/config"
	"github.com/cronce/cronce/cmd/cronce/internal/terminal"
)

// A server beside a node: of its health, or of receipts.
type besideServer struct {
	server  *http.Server
	serving sync.WaitGroup
}

// serveHealth serves /healthz, which only says that the process lives, so that an
// outage of the store does not restart the fleet, and /readyz, which is ready's
// answer; when that is yes, what is wrong with a part follows; and /metrics. The result is not nil, even if nothing is served.
func serveHealth(c config.HTTP, ready func() error, remarks func() []string, metrics http.Handler, log *zap.Logger) (*besideServer, error) {
	return serveBeside("http", c, healthHandler(ready, remarks, metrics), "health served", log)
}

// serveBeside serves what the section at a path of the file says, until stop.
func serveBeside(path string, c config.HTTP, handler http.Handler, said string, log *zap.Logger) (*besideServer, error) {
	if c.Off() {
		return &besideServer{}, nil
	}
	listener, err := listen(c.Address, maxHealthConnections)
	if err != nil {
		return nil, fmt.Errorf("%s.address: %w", path, err)
	}
	h := &besideServer{server: &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 2 * time.Second,
		ReadTimeout:       5 * time.Second,
		WriteTimeout:      7 * time.Second,
		IdleTimeout:       30 * time.Second,
		MaxHeaderBytes:    8 << 10,
	}}
	h.serving.Go(func() { _ = h.server.Serve(listener) }) // until stop
	log.Info(said, zap.Stringer("address", listener.Addr()))
	return h, nil
}

func healthHandler(ready func() error, remarks func() []string, metrics http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics)
	answer := func(w http.ResponseWriter, status int, text string) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text+"\n")
	}
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := ready(); err != nil {
			answer(w, http.StatusServiceUnavailable, terminal.Printable(err.Error()))
			return
		}
		answer(w, http.StatusOK, terminal.PrintableText(strings.Join(append([]string{"ok"}, remarks()...), "\n")))
	})
	return mux
}

// stop ends the server and waits until it is gone.
func (h *besideServer) stop() {
	if h.server == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := h.server.Shutdown(ctx); errors.Is(err, context.DeadlineExceeded) {
		_ = h.server.Close()
	}
	h.serving.Wait()
}
