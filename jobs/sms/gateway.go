package sms

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"
)

// A Gateway sends messages through a service. Send makes one request and returns nil if the message
// was accepted. The message's ID is the key by which the gateway may drop repeats. An error should
// be a *GatewayError. Any other error counts as a request that may have been accepted, and is tried
// again. If an error is neither Permanent nor Pause, the run decides by the other messages whether
// it concerns the gateway: see Attempts.
//
// Send is called concurrently, and must return soon after its context ends. Errors need not mask
// the recipient's number: the outbox masks it before it stores or logs them.
type Gateway interface {
	Send(ctx context.Context, m Message) error
}

// A GatewayError is the reason why a message was not accepted, and determines how the run continues.
type GatewayError struct {
	Status    int           // of the HTTP reply; 0: there was none
	Permanent bool          // the message will never be accepted: it fails
	Pause     bool          // the sender or the gateway is the reason, not this message: pause
	Route     bool          // this message or the URL is the reason: it fails in the third run in which others get through
	Unsure    bool          // the message may have been accepted
	After     time.Duration // the Retry-After of the gateway; 0: none
	Err       error         // the cause; may be nil if Status is set
}

func (e *GatewayError) Error() string {
	switch {
	case e.Err == nil:
		return fmt.Sprintf("the gateway answered %d", e.Status)
	case e.Status == 0:
		return fmt.Sprintf("no answer from the gateway: %v", e.Err)
	}
	return fmt.Sprintf("the gateway answered %d: %v", e.Status, e.Err)
}

// Unwrap returns Err.
func (e *GatewayError) Unwrap() error { return e.Err }

// Console is a gateway that writes a line for each message, with a masked
// recipient and the beginning of the text. It is for demonstrations.
type Console struct {
	mu sync.Mutex
	w  io.Writer
}

// NewConsole returns a gateway that writes to w, one line in one Write.
func NewConsole(w io.Writer) *Console { return &Console{w: w} }

// Send writes the message's line. It may be called concurrently.
func (c *Console) Send(ctx context.Context, m Message) error {
	if err := context.Cause(ctx); err != nil {
		return &GatewayError{Err: err}
	}
	line := fmt.Sprintf("sms %s to %s: %s\n", m.ID, Mask(m.To), excerpt(m.Text))
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := io.WriteString(c.w, line); err != nil {
		return &GatewayError{Err: err, Unsure: true}
	}
	return nil
}

// excerpt quotes the beginning of a text, so that it stays on its line.
func excerpt(text string) string {
	const most = 40
	runes := []rune(text)
	if len(runes) <= most {
		return fmt.Sprintf("%q", text)
	}
	return fmt.Sprintf("%q…", string(runes[:most]))
}
