package sms

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"
)

// A Gateway hands messages to a service that delivers them. Send makes one request and
// returns nil when the message was accepted; the message's ID is the key by which
// the gateway may drop repeats. An error should be a *GatewayError; any other
// counts as one whose request may have been accepted, and is tried again. Of an error
// that is neither Permanent nor Pause the run judges by the other messages whether it
// was about the gateway: see Attempts. Send is
// called concurrently, and returns soon after its context ends. Errors need not
// mask the recipient's number as it was given: that is done before they are
// stored or logged.
type Gateway interface {
	Send(ctx context.Context, m Message) error
}

// A GatewayError says why a message was not accepted, and what to do about it.
type GatewayError struct {
	Status    int           // of the HTTP reply; 0: there was none
	Permanent bool          // it will never be accepted: do not try again
	Pause     bool          // it is surely about us or the gateway, and not about this message: send nothing for a while
	Route     bool          // it is about this message or about the URL: final in the third run in which other messages get through
	Unsure    bool          // it may have been accepted all the same
	After     time.Duration // the gateway asked to wait so long; 0: it did not say
	Err       error         // what went wrong; may be nil if Status says it
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
