package stock

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// Defaults and bounds of a Stream.
const (
	DefaultStreamLength = 100_000
	minStreamLength     = 1000
	maxStreamLength     = 10_000_000
	maxStreamKey        = 200 // bytes
)

// StreamOptions are the options of a Stream. The zero value is valid.
type StreamOptions struct {
	// Name is the name of the target. Empty: stream.
	Name string
	// Key is the key of the stream. Empty: <namespace>:v1:stock:{<sale>}:events.
	Key string
	// Length is the approximate number of events that the stream keeps at least: 1000 to 10
	// million. Zero: DefaultStreamLength.
	Length int64
}

// A Stream is a target that adds events to a stream in Redis, for consumer groups. It adds each
// event once and in order, under the id <seq>-0, with the fields id, kind, order and event (the
// Payload). One script compares the stream's last id and adds the events, so that a repeat adds
// nothing. A stream that has lost events gets them again, as far as the book still has them. It
// does not write to a stream with other events than the book's.
type Stream struct {
	client  redis.UniversalClient
	options StreamOptions

	mu  sync.Mutex
	top int64 // last event of the stream when it was last read or written
}

// NewStream returns a Stream for the events of a sale, in the Redis of the client. Its error
// joins a *FieldError for each option that is not allowed.
func NewStream(s *Sale, client redis.UniversalClient, o StreamOptions) (*Stream, error) {
	if s == nil || client == nil {
		return nil, fmt.Errorf("stock: new stream: %w", &FieldError{"client", "nil, or no sale", "both"})
	}
	fill(&o.Name, "stream")
	fill(&o.Key, s.key(keyEvents))
	fill(&o.Length, DefaultStreamLength)
	if o.Length < minStreamLength || o.Length > maxStreamLength {
		return nil, fmt.Errorf("stock: new stream: %w", &FieldError{"length", strconv.FormatInt(o.Length, 10), fmt.Sprintf("%d to %d", minStreamLength, maxStreamLength)})
	}
	if len(o.Key) > maxStreamKey {
		return nil, fmt.Errorf("stock: new stream: %w", &FieldError{"key", quote(o.Key), fmt.Sprintf("up to %d bytes", maxStreamKey)})
	}
	return &Stream{client: client, options: o}, nil
}

// Name returns the name of the target.
func (s *Stream) Name() string { return s.options.Name }

// Key returns the key of the stream.
func (s *Stream) Key() string { return s.options.Key }

// position returns the last event of the stream. If the stream was emptied or has gone back, that
// is an earlier event, from which on the stream gets again the events that it would still keep.
func (s *Stream) position(ctx context.Context, since, at int64) (int64, error) {
	answer, err := s.ask(ctx, streamTopScript)
	if err == nil && len(answer) != 1 {
		err = unknownAnswer(answer)
	}
	if err != nil {
		return 0, fmt.Errorf("read the stream: %w", err)
	}
	top, err := parseTop(answer[0])
	switch {
	case err != nil:
		return 0, err
	case top > at+maxDelivered:
		return 0, fmt.Errorf("the stream %s is at event %d, and the book had not gone beyond %d: it is another sale's, or the database has gone back to an older state", quote(s.options.Key), top, at+maxDelivered)
	}
	s.reached(top)
	if top >= at { // events behind at are compared when they are added again
		return at, nil
	}
	return max(top, since, at-s.options.Length), nil
}

func (s *Stream) reached(top int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.top = top
}

// expected returns the last event of a stream that has lost nothing since it was read.
func (s *Stream) expected() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strconv.FormatInt(s.top, 10)
}

// Deliver adds events to the stream.
func (s *Stream) Deliver(ctx context.Context, events []Event) (d Delivery) {
	before := events[0].Seq - 1
	args := []any{strconv.FormatInt(before, 10), s.expected(), s.options.Length}
	for i := range events {
		e := &events[i]
		args = append(args, strconv.FormatInt(e.Seq, 10), e.ID(), string(e.Kind), e.Order, e.Payload)
	}
	answer, err := s.ask(ctx, streamAddScript, args...)
	switch {
	case err != nil:
		d.Err = fmt.Errorf("add to the stream: %w", err)
	case is(answer, "ok", 1):
		d.Done = len(events)
		s.reached(events[d.Done-1].Seq)
	case is(answer, "other", 2):
		d.Err = fmt.Errorf("add to the stream: it has another event under id %s: it is another sale's, or the database has gone back to an older state", quote(answer[1]))
	case is(answer, "behind", 2):
		d.Err = fmt.Errorf("add to the stream: it has lost events, and is at %s", quote(answer[1]))
	default:
		d.Err = unknownAnswer(answer)
	}
	return d
}

func (s *Stream) ask(ctx context.Context, script *redis.Script, args ...any) ([]string, error) {
	return again(ctx, func() ([]string, error) {
		answer, err := script.Run(ctx, s.client, []string{s.options.Key}, args...).StringSlice()
		return answer, full(err)
	})
}

// parseTop parses the last id of a stream, which is <seq>-0.
func parseTop(id string) (int64, error) {
	digits, rest, _ := strings.Cut(id, "-")
	seq, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || rest != "0" || seq < 0 {
		return 0, fmt.Errorf("the last id of the stream is %s, and none that a sale gives: it is not one of a sale", quote(id))
	}
	return seq, nil
}
