package http

import (
	"errors"
	nethttp "net/http"
	"strconv"
	"strings"

	"github.com/cronce/cronce/internal/redact"
)

// ErrUnknown is the error of a request that was sent and has no complete response, so that the
// server may have done its work or not.
var ErrUnknown = errors.New("outcome unknown: the request was sent, and no answer came")

// A StatusError is a response with an unexpected status.
type StatusError struct {
	Status int
	Body   string // the beginning of the response, up to 4 KiB, masked
}

// Error returns the status, and the beginning of the response on one line.
func (e *StatusError) Error() string {
	const most = 256 // bytes
	text := strings.TrimSpace("status " + strconv.Itoa(e.Status) + " " + nethttp.StatusText(e.Status))
	body := strings.Join(strings.Fields(e.Body), " ")
	if short := redact.Cut(body, most); short != body {
		body = short + "…"
	}
	if body == "" {
		return text
	}
	return text + ": " + body
}

// retried are the statuses after which another try may succeed.
var retried = []int{408, 425, 429, 500, 502, 503, 504}
