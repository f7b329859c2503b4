package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/cronce/cronce/ops"
)

const (
	maxStreams   = 64               // of all callers: each compresses, with about 1 MB of memory
	streamTime   = 15 * time.Minute // then the browser connects again, and proves its session again
	quietAtMost  = 15 * time.Second // the longest time between two writes
	frameTimeout = 5 * time.Second  // a reader that accepts no data for so long is disconnected
)

// A stream is a reader that follows a page.
type stream struct {
	caller string
	end    context.CancelCauseFunc
}

// errCrowded ends the stream that made room for another one.
var errCrowded = errors.New("too many streams are open")

// A change is the data of an event: the time of the reading, and the parts of the page that changed.
type change struct {
	At    int64    `json:"at"`  // the store's clock in Unix milliseconds; 0: never read
	Age   int64    `json:"age"` // milliseconds since then
	Parts []string `json:"parts,omitempty"`
}

// events streams the changes of the page that the parameter page names, at most once a second: all its
// live parts first, then those that changed. Without a page it sends when the data was read. A stream
// ends with its session.
func (h *Handler) events(w http.ResponseWriter, r *http.Request) {
	c, target := callerOf(r), r.FormValue("page")
	ctx, stop := context.WithTimeout(r.Context(), streamTime)
	defer stop()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	s := &stream{c.ID, end}
	h.enter(s)
	defer h.leave(s)
	defer h.o.Projection.Watch()()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	sent := sentParts{}
	for now := h.o.Projection.Peek(); ; {
		event := changeOf(now)
		if target != "" {
			event.Parts = sent.changed(h.live(r, target), time.Now())
		}
		if !send(w, "event: change\ndata: "+encoded(event)) {
			return
		}
		next, err := h.await(ctx, w, now)
		switch {
		case errors.Is(context.Cause(ctx), errCrowded):
			send(w, "event: end\ndata: crowded")
			return
		case err != nil:
			return
		case h.o.Gate.Caller(r, true) != c: // the session has ended, or its token is gone
			send(w, "event: end\ndata: session")
			return
		}
		now = next
	}
}

// await returns the next snapshot. Until it comes, the reader gets a sign of life.
func (h *Handler) await(ctx context.Context, w http.ResponseWriter, seen *ops.Snapshot) (*ops.Snapshot, error) {
	for {
		quiet, cancel := context.WithTimeout(ctx, quietAtMost)
		next, err := h.o.Projection.Await(quiet, seen)
		cancel()
		if err == nil || ctx.Err() != nil || !send(w, ": quiet") {
			return next, err
		}
	}
}

// send writes an event, and reports whether the reader accepted it.
func send(w http.ResponseWriter, event string) bool {
	out := http.NewResponseController(w)
	_ = out.SetWriteDeadline(time.Now().Add(frameTimeout)) // a server without write deadlines has its own bound
	_, err := fmt.Fprint(w, event, "\n\n")
	return err == nil && out.Flush() == nil
}

func changeOf(s *ops.Snapshot) change {
	if s.AsOf.IsZero() {
		return change{}
	}
	return change{At: s.AsOf.UnixMilli(), Age: s.LagMs()}
}

// encoded returns a change in one line of JSON.
func encoded(c change) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(c) // numbers and texts can be encoded
	return string(bytes.TrimSpace(b.Bytes()))
}

// enter opens a stream. If all are in use, the oldest stream of the caller with most of them ends: its
// page is read from time to time instead.
func (h *Handler) enter(s *stream) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.streams = append(h.streams, s)
	if len(h.streams) <= maxStreams {
		return
	}
	counts := map[string]int{}
	most := h.streams[0]
	for _, open := range h.streams {
		counts[open.caller]++
	}
	for _, open := range h.streams {
		if counts[open.caller] > counts[most.caller] {
			most = open
		}
	}
	most.end(errCrowded)
	h.streams = slices.DeleteFunc(h.streams, func(open *stream) bool { return open == most })
}

func (h *Handler) leave(s *stream) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.streams = slices.DeleteFunc(h.streams, func(open *stream) bool { return open == s })
}
