// Package health serves the health and the metrics of a node, and other small handlers beside it.
package health

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/listen"
	"github.com/cronce/cronce/cmd/internal/terminal"
)

// maxConnections bounds the open connections of a server.
const maxConnections = 64

// A Server serves one section of the configuration until [Server.Stop].
type Server struct {
	server  *http.Server
	serving sync.WaitGroup
}

// Serve serves a handler at the address of a section, whose path is named in errors, and logs the
// message with the address. The result is never nil, even if no address is served.
func Serve(path string, c config.HTTP, handler http.Handler, message string, log *slog.Logger) (*Server, error) {
	if c.Off() {
		return &Server{}, nil
	}
	listener, err := listen.Listen(c.Address, maxConnections)
	if err != nil {
		return nil, fmt.Errorf("%s.address: %w", path, err)
	}
	s := &Server{server: &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 2 * time.Second,
		ReadTimeout:       5 * time.Second,
		WriteTimeout:      7 * time.Second,
		IdleTimeout:       30 * time.Second,
		MaxHeaderBytes:    8 << 10,
		ErrorLog:          terminal.ServerLog(log),
	}}
	s.serving.Go(func() { _ = s.server.Serve(listener) }) // until Stop
	log.Info(message, slog.String("address", listener.Addr().String()))
	return s, nil
}

// Stop ends the server and waits for its goroutines.
func (s *Server) Stop() {
	if s.server == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := s.server.Shutdown(ctx); errors.Is(err, context.DeadlineExceeded) {
		_ = s.server.Close()
	}
	s.serving.Wait()
}

// Handler serves /healthz, /readyz and /metrics. /healthz only reports that the process lives, so
// that an outage of the store restarts no node. /readyz has the result of ready, followed by remarks
// about parts.
func Handler(ready func() error, remarks func() []string, metrics http.Handler) http.Handler {
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
