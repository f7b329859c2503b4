package stock_test

import (
	"errors"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/jobs/stock"
)

// A sale without a book has no events: each function for them says so, and asks nothing of the store.
func TestEventsWithoutABook(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{})
	t.Cleanup(func() { _ = client.Close() })
	s := newSale(t, client, stock.Options{})
	for name, call := range map[string]func() error{
		"Events":       func() error { _, err := s.Events(t.Context(), 0, 1); return err },
		"EventCursor":  func() error { _, err := s.EventCursor(t.Context()); return err },
		"FollowEvents": func() error { _, err := s.FollowEvents(t.Context(), 1); return err },
		"MoveEvents":   func() error { return s.MoveEvents(t.Context(), 1, stock.EventCursor{}) },
	} {
		if e, is := errors.AsType[*stock.FieldError](call()); !is || e.Field != "book" {
			t.Errorf("%s returns no fault of the book", name)
		}
	}
}
