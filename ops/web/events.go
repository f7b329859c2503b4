package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/cronce/cronce/ops/access"
)

const (
	maxStreams   = 5                // per caller
	streamTime   = 15 * time.Minute // then the browser connects again, and proves its session again
	quietAtMost  = 15 * time.Second // the longest time between two writes
	frameTimeout = 5 * time.Second  // a reader that accepts no data for so long is disconnected
)

// events streams a notice of changes, at most once a second. The page then reloads its data, so
// that only one place decides which data a caller may see. A stream ends with its session.
func (h *Handler) events(w http.ResponseWriter, r *http.Request) {
	c := callerOf(r)
	if !h.enter(c) {
		w.Header().Set("Retry-After", "5")
		problem(w, r, http.StatusTooManyRequests, "rate-limited", fmt.Sprintf("%d streams of %s are open", maxStreams, c.ID))
		return
	}
	defer h.leave(c)
	defer h.o.Projection.Watch()()
	out := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	send := func(text string) bool {
		_ = out.SetWriteDeadline(time.Now().Add(frameTimeout)) // a server without write deadlines has its own bound
		_, err := fmt.Fprint(w, text)
		return err == nil && out.Flush() == nil
	}
	ctx, stop := context.WithTimeout(r.Context(), streamTime)
	defer stop()
	now := h.o.Projection.Peek()
	if !send(fmt.Sprintf("retry: 3000\nevent: hello\ndata: %d\n\n", now.AsOf.UnixMilli())) {
		return
	}
	for {
		quiet, cancel := context.WithTimeout(ctx, quietAtMost)
		next, err := h.o.Projection.Await(quiet, now)
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case h.o.Gate.Caller(r, true) != c: // the session has ended, or its token is gone
			send("event: end\ndata: session\n\n")
			return
		case errors.Is(err, context.DeadlineExceeded):
			if !send(": quiet\n\n") {
				return
			}
		default:
			now = next
			if !send(fmt.Sprintf("event: change\ndata: %d\n\n", now.AsOf.UnixMilli())) {
				return
			}
		}
	}
}

// enter counts a stream of a caller. It returns false if the caller has too many.
func (h *Handler) enter(c access.Caller) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.streams[c.ID] >= maxStreams {
		return false
	}
	h.streams[c.ID]++
	return true
}

func (h *Handler) leave(c access.Caller) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.streams[c.ID]--; h.streams[c.ID] == 0 {
		delete(h.streams, c.ID)
	}
}
