package sms

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// Defaults of Options.
const (
	DefaultNamespace = "cronce"
	DefaultRetention = 7 * 24 * time.Hour
)

// maxBatch bounds the messages of one script, which keeps every script below a few milliseconds.
const maxBatch = 500

// trimAtOnce bounds the messages of each state that one script deletes, and trimSteps the scripts
// of a run.
const (
	trimAtOnce = 100
	trimSteps  = 10
)

// ErrConflict is returned when an id is known with other content.
var ErrConflict = errors.New("the id is known with other content")

// Options are the options of an outbox. The zero value is valid.
type Options struct {
	// Namespace begins all keys: [A-Za-z0-9][A-Za-z0-9._-]{0,63}.
	// Empty: DefaultNamespace.
	Namespace string
	// Retention is how long sent and failed messages and their ids are kept. At least a minute.
	// Zero: DefaultRetention.
	Retention time.Duration
}

// An Outbox keeps messages in Redis until they were sent, and for a while after.
// It may be used concurrently, and by many processes at once.
type Outbox struct {
	client    redis.Scripter
	prefix    string
	retention time.Duration
}

var namespacePattern = regexp.MustCompile(`\A[A-Za-z0-9][A-Za-z0-9._-]{0,63}\z`)

// NewOutbox returns the outbox of a namespace. It sends nothing. Any client of
// go-redis works. It should have ContextTimeoutEnabled set; otherwise the end of a context takes
// effect only after the client's own timeouts. The caller closes it.
func NewOutbox(client redis.Scripter, options Options) (*Outbox, error) {
	if options.Namespace == "" {
		options.Namespace = DefaultNamespace
	}
	if options.Retention == 0 {
		options.Retention = DefaultRetention
	}
	var faults []error
	if client == nil {
		faults = append(faults, &FieldError{"client", "nil", "a client of go-redis"})
	}
	if !namespacePattern.MatchString(options.Namespace) {
		faults = append(faults, &FieldError{"namespace", quote(options.Namespace),
			"a letter or digit, then up to 63 of A-Z a-z 0-9 . _ -"})
	}
	if options.Retention < time.Minute {
		faults = append(faults, &FieldError{"retention", options.Retention.String(), "a minute or more"})
	}
	if err := errors.Join(faults...); err != nil {
		return nil, fmt.Errorf("sms: new outbox: %w", err)
	}
	prefix := options.Namespace + ":v1:sms:{" + options.Namespace + "}:"
	return &Outbox{client: client, prefix: prefix, retention: options.Retention}, nil
}

// Accept puts a message into the outbox and reports whether it is new. A message that is already in
// the outbox stays unchanged, in every state, and the error is nil. An id with other content is
// ErrConflict. After any other error of the store it is unknown whether the message was accepted:
// accept it again with the same id.
func (o *Outbox) Accept(ctx context.Context, m Message) (fresh bool, err error) {
	if err := m.Validate(); err != nil {
		return false, fmt.Errorf("sms: accept: %w", err)
	}
	fresh, err = o.accept(ctx, m)
	if err != nil {
		return false, fmt.Errorf("sms: accept %q: %w", m.ID, err)
	}
	return fresh, nil
}

func (o *Outbox) accept(ctx context.Context, m Message) (fresh bool, err error) {
	due := ""
	if !m.At.IsZero() {
		due = strconv.FormatInt(m.At.UnixMilli(), 10)
	}
	body, err := encode(m)
	if err != nil {
		return false, err
	}
	keys := o.keys(keyBody, keyStatus, keyBroken, keyQueued)
	answer, err := acceptScript.Run(ctx, o.client, keys, m.ID, body, due).Text()
	switch {
	case err != nil:
		return false, err
	case answer == "conflict":
		return false, ErrConflict
	case answer != "new" && answer != "known":
		return false, errors.New("unknown answer " + quote(answer))
	}
	return answer == "new", nil
}

// A body is the content of a message as it is stored: equal content gives equal bytes.
type body struct {
	To   string `json:"to"`
	Text string `json:"text"`
	At   int64  `json:"at,omitempty"` // Unix ms

	Until  int64  `json:"until,omitempty"` // Unix ms
	Person string `json:"person,omitempty"`
}

func encode(m Message) (string, error) {
	b := body{To: m.To, Text: m.Text, Person: m.Person}
	if !m.At.IsZero() {
		b.At = m.At.UnixMilli()
	}
	if !m.Until.IsZero() {
		b.Until = m.Until.UnixMilli()
	}
	encoded, err := json.Marshal(b)
	return string(encoded), err
}

func decode(id, encoded string) (Message, error) {
	var b body
	if err := json.Unmarshal([]byte(encoded), &b); err != nil {
		return Message{}, errors.New("the body is missing, or not JSON with to and text") // the decoder's error may repeat the body
	}
	m := Message{ID: id, To: b.To, Text: b.Text, Person: b.Person}
	if b.At != 0 {
		m.At = time.UnixMilli(b.At).UTC()
	}
	if b.Until != 0 {
		m.Until = time.UnixMilli(b.Until).UTC()
	}
	return m, nil
}
