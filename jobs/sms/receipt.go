package sms

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cronce/cronce/internal/bearer"
)

// Bounds of a receipt over HTTP.
const (
	maxReceipt  = 4 << 10 // bytes of its body
	receiptTime = 5 * time.Second
)

// Receipts serves receipts over HTTP:
//
//	POST /sms/receipts
//	Authorization: Bearer <token>
//	Content-Type: application/json
//
//	{"id":"…","status":"delivered"}
//	{"id":"…","status":"undelivered","reason":"absent subscriber"}
//
// The reply is 204 whether the message is known or not, so that it does not reveal ids. A
// receipt may be sent again, and must be after 503, which is doubt. The reply is 401 without
// the token, and 422 if the body does not have this form.
type Receipts struct {
	outbox *Outbox
	token  func() Secret
	log    *slog.Logger
	logged atomic.Int64 // time of the last logged doubt, Unix ns
}

// NewReceipts returns a handler. Token returns the current token and is called for each request,
// also concurrently, so that the token can be replaced. While it is empty every request is refused.
// The logger may be nil. NewReceipts panics without an outbox or a token.
func NewReceipts(o *Outbox, token func() Secret, log *slog.Logger) *Receipts {
	if o == nil || token == nil {
		panic("sms: NewReceipts needs an outbox and a token")
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Receipts{outbox: o, token: token, log: log}
}

// ServeHTTP serves one request.
func (h *Receipts) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	status := h.serve(w, r)
	switch status {
	case http.StatusNoContent:
		w.WriteHeader(status)
		return
	case http.StatusUnauthorized:
		bearer.Demand(w, r, "receipts")
	case http.StatusMethodNotAllowed:
		w.Header().Set("Allow", http.MethodPost)
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "1")
	}
	http.Error(w, strings.ToLower(http.StatusText(status)), status)
}

// serve returns the status of the reply. Without the token the reply contains nothing else.
func (h *Receipts) serve(w http.ResponseWriter, r *http.Request) int {
	switch kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); {
	case !bearer.Is(r, string(h.token())):
		return http.StatusUnauthorized
	case r.URL.Path != "/sms/receipts":
		return http.StatusNotFound
	case r.Method != http.MethodPost:
		return http.StatusMethodNotAllowed
	case err != nil || kind != "application/json":
		return http.StatusUnsupportedMediaType
	}
	receipt, err := readReceipt(http.MaxBytesReader(w, r.Body, maxReceipt))
	if _, long := errors.AsType[*http.MaxBytesError](err); long {
		return http.StatusRequestEntityTooLarge
	}
	if err != nil {
		return http.StatusUnprocessableEntity
	}
	ctx, stop := context.WithTimeout(r.Context(), receiptTime)
	defer stop()
	switch err := h.outbox.Receive(ctx, receipt); {
	case err == nil, errors.Is(err, ErrUnknown):
		return http.StatusNoContent
	default:
		if last, now := h.logged.Load(), time.Now().UnixNano(); now-last >= int64(time.Second) && h.logged.CompareAndSwap(last, now) {
			h.log.Warn("receipt in doubt", slog.Any("error", err))
		}
		return http.StatusServiceUnavailable
	}
}

// readReceipt reads a body of one JSON object with the documented fields.
func readReceipt(body io.Reader) (Receipt, error) {
	var form struct {
		ID     string `json:"id"`
		Status string `json:"status"`
		Reason string `json:"reason"`
	}
	d := json.NewDecoder(body)
	d.DisallowUnknownFields()
	if err := d.Decode(&form); err != nil {
		return Receipt{}, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Receipt{}, errors.Join(errors.New("the body continues behind the receipt"), err)
	}
	if form.Status != keyDelivered && form.Status != keyUndelivered {
		return Receipt{}, fmt.Errorf("status is %s, must be delivered or undelivered", quote(form.Status))
	}
	if !idPattern.MatchString(form.ID) {
		return Receipt{}, fmt.Errorf("id is %s", quote(form.ID))
	}
	return Receipt{ID: form.ID, Delivered: form.Status == keyDelivered, Reason: form.Reason}, nil
}

// A Receipt is the gateway's report about a message that it has accepted.
type Receipt struct {
	ID        string // id of the message
	Delivered bool   // the message has reached its recipient; false: it will not
	Reason    string // the reason; cut, on one line
}

// Receive stores a receipt. It may be repeated, and may come before the run that sent the message
// has marked it. A delivered message stays delivered, and is not sent again even if the gateway's
// reply to its request was lost. ErrUnknown: no message with this id can have been sent, or it
// ended longer ago than Options.Retention.
func (o *Outbox) Receive(ctx context.Context, r Receipt) error {
	if !idPattern.MatchString(r.ID) {
		return fmt.Errorf("sms: receive: %w", &FieldError{"id", quote(r.ID), "1 to 64 of A-Z a-z 0-9 . _ -"})
	}
	outcome := keyUndelivered
	if r.Delivered {
		outcome = keyDelivered
	}
	keys := o.keys(keyStatus, keySent, keyRepeated, keyDelivered, keyUndelivered,
		keyQueued, keyRetry, keyFailed, keyExpired)
	answer, err := receiptScript.Run(ctx, o.client, keys, r.ID, outcome, clean(r.Reason, "")).StringSlice()
	switch {
	case err != nil:
	case len(answer) == 1 && answer[0] == "ok":
		return nil
	case len(answer) == 1 && answer[0] == "unknown":
		err = ErrUnknown
	default:
		err = errors.New("unknown answer")
	}
	return fmt.Errorf("sms: receive %s: %w", quote(r.ID), err)
}
