package sms

import (
	"context"
	"fmt"
	"io"
	"sync"
)

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
