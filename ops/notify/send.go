package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/cronce/cronce/internal/outbound"
	"github.com/cronce/cronce/internal/wait"
)

// deliver posts the events of the queue, one after the other, until ctx ends.
func (n *Notifier) deliver(ctx context.Context) {
	backoff := wait.Backoff{First: soonest, Longest: latest, Spread: true}
	failing := false // the previous request failed
	for ctx.Err() == nil {
		it, pause := n.due()
		if it == nil {
			wait.Woken(ctx, pause, n.queue.wake)
			continue
		}
		after, err := n.post(ctx, &it.event)
		if ctx.Err() != nil {
			return
		}
		n.mu.Lock()
		if it.tries++; err == nil {
			n.queue.remove(it)
		} else {
			it.due = time.Now().Add(max(backoff.After(it.tries), min(after, time.Hour)))
		}
		n.mu.Unlock()
		switch {
		case err == nil:
			n.alerts.WithLabelValues(sent).Inc()
			n.o.Log.Info("alert sent", slog.String("key", it.Key), slog.String("action", it.Action), slog.Int("tries", it.tries))
		default:
			n.alerts.WithLabelValues(failed).Inc()
			if !failing {
				n.o.Log.Warn("alert not accepted", slog.String("key", it.Key), slog.String("action", it.Action), slog.String("err", err.Error()))
			}
		}
		failing = err != nil
	}
}

// due returns an event that is due, or nil and the time until one may be.
func (n *Notifier) due() (*item, time.Duration) {
	n.mu.Lock()
	now := time.Now()
	most := maxAge
	if n.role == second {
		most = standbyFor
	}
	old := n.queue.expire(now, most)
	it, pause := n.queue.next(), standbyFor
	if it != nil && n.role != second {
		pause = it.due.Sub(now)
	}
	if pause > 0 {
		it = nil
	}
	left := n.role == second
	if left {
		n.tracker.leave(old)
	}
	n.mu.Unlock()
	if left {
		n.alerts.WithLabelValues(standby).Add(float64(len(old)))
	} else {
		n.drop(old, "the webhook did not accept it for "+maxAge.String())
	}
	return it, pause
}

// post posts an event, and returns the time in Retry-After with an error.
func (n *Notifier) post(ctx context.Context, e *event) (after time.Duration, err error) {
	body, err := json.Marshal(e)
	if err != nil {
		return 0, err
	}
	header := http.Header{"Content-Type": {"application/json"}, "Idempotency-Key": {e.idempotencyKey(e.Action)}}
	if f := n.o.Webhook.Secret; f != nil {
		if secret := f(); secret != "" {
			header.Set("Cronce-Signature", outbound.Sign(time.Now(), body, secret))
		}
	}
	return n.send(ctx, n.webhook, http.MethodPost, n.o.Webhook.URL, header, body)
}

// send sends a request, and returns nil if it was accepted.
func (n *Notifier) send(ctx context.Context, client *http.Client, method, url string, header http.Header, body []byte) (after time.Duration, err error) {
	ctx, stop := context.WithTimeout(ctx, requestTimeout)
	defer stop()
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return 0, outbound.Bare(err)
	}
	request.Header = header
	request.Header.Set("User-Agent", "cronce ("+n.o.Projection.Namespace()+")")
	reply, err := client.Do(request)
	if err != nil {
		return 0, outbound.Bare(err)
	}
	defer reply.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(reply.Body, maxReply))
	if reply.StatusCode >= 200 && reply.StatusCode <= 299 {
		return 0, nil
	}
	return outbound.RetryAfter(reply.Header, time.Now()), errors.New("HTTP status " + strconv.Itoa(reply.StatusCode))
}

// beat sends a heartbeat each minute while all is decided, until ctx ends.
func (n *Notifier) beat(ctx context.Context) {
	s := n.o.Projection.Peek()
	if unread(s) {
		s, _ = n.o.Projection.Await(ctx, s)
	}
	last := sent
	for ctx.Err() == nil {
		result, text := sent, beatable(s)
		if text != "" {
			result = withheld
		} else if _, err := n.send(ctx, n.heartbeat, http.MethodGet, n.o.Heartbeat.URL, http.Header{}, nil); err != nil {
			result, text = failed, err.Error()
		}
		if ctx.Err() != nil {
			return
		}
		n.heartbeats.WithLabelValues(result).Inc()
		switch {
		case result == last:
		case result == sent:
			n.o.Log.Info("heartbeat sent again")
		default:
			n.o.Log.Warn("heartbeat "+result, slog.String("reason", text))
		}
		last = result
		_ = wait.Sleep(ctx, heartbeatEvery)
		s = n.o.Projection.Peek()
	}
}
