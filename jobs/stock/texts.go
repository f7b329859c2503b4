package stock

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/template"
	"time"

	"github.com/cronce/cronce/internal/legible"
	"github.com/cronce/cronce/jobs/stock/internal/sqltext"
)

// maxTemplate bounds the characters of a template and of a text.
const maxTemplate = 1000

// An Outbox sends texts to phones and remembers their states for a while. Package sms has one.
type Outbox interface {
	// Accept stores a text once per id. An ErrRefused refuses the text because of its content.
	Accept(ctx context.Context, id, phone, text string) error
	// ReadStates returns the states of up to 500 texts and, in the same step, the place of a list;
	// empty: none.
	ReadStates(ctx context.Context, list string, ids []string) (place string, states []TextState, err error)
	// SetPlace replaces the place of a list if it is from, and reports whether it did. The place
	// must be lost whenever texts are lost.
	SetPlace(ctx context.Context, list, from, to string) (bool, error)
}

// A TextState is the state of a text.
type TextState int

// The states of texts.
const (
	TextUnknown TextState = iota // the outbox does not know it
	TextWaits                    // it waits to be sent
	TextEnded                    // it was sent, or will never be
)

// ErrRefused is returned for a text that an Outbox refuses because of its content.
var ErrRefused = errors.New("the text is refused")

// A TextData holds the fields of a template.
type TextData struct {
	Order     string // id of the order
	Kind      State  // new state of the order
	Amount    string // in major units, such as 7.00; without minor units, 7
	Minor     int64  // in minor units
	Currency  string
	Reference string // of the payment, the refund or the return, or empty
}

// TextOptions are the options of Texts. Templates are required.
type TextOptions struct {
	// Name is the name of the target. Empty: sms.
	Name string
	// Templates are the texts by kind of event, in the syntax of text/template with the fields of
	// TextData. No text is sent for other kinds, or for an order without a phone.
	Templates map[State]string
}

// Texts is a target that puts a text for the buyer into an outbox, such as "your order is
// confirmed". The id of the text is derived from the event, so that a repeat adds none. The
// database remembers the texts that may not have ended yet; if the outbox loses them with its
// store, they are put into it again.
type Texts struct {
	sale      *Sale
	outbox    Outbox
	name      string
	templates map[State]*template.Template

	mu      sync.Mutex
	checked int64 // event of the last text whose state was checked; 0: begin with the first
}

// NewTexts returns Texts for the events of a sale. It executes each template with sample data. The
// error joins a *FieldError for each option that is not allowed.
func NewTexts(s *Sale, to Outbox, o TextOptions) (*Texts, error) {
	fill(&o.Name, "sms")
	t := &Texts{sale: s, outbox: to, name: o.Name, templates: map[State]*template.Template{}}
	var faults []error
	if s == nil || to == nil {
		faults = append(faults, &FieldError{"outbox", "nil, or no sale", "both"})
	}
	if len(o.Templates) == 0 {
		faults = append(faults, &FieldError{"texts", "empty", "a text for one kind of event at least"})
	}
	for _, kind := range slices.Sorted(maps.Keys(o.Templates)) {
		parsed, err := parseText(kind, o.Templates[kind])
		if err != nil {
			faults = append(faults, err)
		}
		t.templates[kind] = parsed
	}
	if err := errors.Join(faults...); err != nil {
		return nil, fmt.Errorf("stock: new texts: %w", err)
	}
	return t, nil
}

func parseText(kind State, text string) (*template.Template, error) {
	if state, err := parseState(string(kind)); err != nil || state == Paying {
		return nil, &FieldError{"texts", quote(string(kind)), "reserved, paid, cancelled, expired, returned and refunded"}
	}
	field := "texts." + string(kind)
	if n := len([]rune(text)); n > maxTemplate {
		return nil, &FieldError{field, fmt.Sprintf("%d characters long", n), fmt.Sprintf("up to %d", maxTemplate)}
	}
	parsed, err := template.New(string(kind)).Parse(text)
	if err == nil {
		_, err = render(parsed, TextData{Order: strings.Repeat("o", 64), Kind: kind, Amount: "10000000000.00", Minor: MaxAmount, Currency: "EUR", Reference: strings.Repeat("r", 64)})
	}
	if err != nil {
		return nil, &FieldError{field, quote(err.Error()), "a template with .Order .Kind .Amount .Minor .Currency .Reference, and a text of up to " + strconv.Itoa(maxTemplate) + " printable characters"}
	}
	return parsed, nil
}

// errLong ends a template whose output is too long.
var errLong = errors.New("the text is too long")

// A boundedText refuses output that is longer than a text may be.
type boundedText struct{ strings.Builder }

func (b *boundedText) Write(p []byte) (int, error) {
	if b.Len()+len(p) > 4*maxTemplate {
		return 0, errLong
	}
	return b.Builder.Write(p)
}

func render(t *template.Template, d TextData) (string, error) {
	var b boundedText
	if err := t.Execute(&b, d); err != nil {
		return "", err
	}
	if fault := legible.Fault(b.String(), maxTemplate, true); fault != "" {
		return "", errors.New("the text is " + fault)
	}
	return b.String(), nil
}

// Name returns the name of the target.
func (t *Texts) Name() string { return t.name }

// Deliver puts a text for each event that has one into the outbox.
func (t *Texts) Deliver(ctx context.Context, events []Event) Delivery {
	run, err := t.begin(ctx)
	if err != nil {
		return Delivery{Err: err}
	}
	return run.Deliver(ctx, events)
}

// Deliver is Texts.Deliver with the place that the run has read or set.
func (t *textRun) Deliver(ctx context.Context, events []Event) Delivery {
	d := t.putAll(ctx, events)
	if d.Done == 0 {
		return d
	}
	err := t.sure(ctx, events, d.kept)
	if err == nil {
		err = t.reach(ctx, events[d.Done-1].Seq)
	}
	if err != nil {
		return Delivery{Err: err}
	}
	return d
}

func (t *Texts) putAll(ctx context.Context, events []Event) (d Delivery) {
	with := slices.DeleteFunc(slices.Clone(events), func(e Event) bool { return t.templates[e.Kind] == nil })
	people, err := t.sale.people(ctx, with)
	if err != nil {
		return Delivery{Err: err}
	}
	for i := range events {
		e := &events[i]
		p, ok := people[e.Order]
		if t.templates[e.Kind] == nil || !ok || p.phone == "" || !p.placed.Equal(e.Placed) {
			continue
		}
		if err := t.put(ctx, e, p.phone); errors.Is(err, ErrRefused) {
			d.Refused = append(d.Refused, Refusal{*e, err.Error()})
		} else if err != nil {
			d.Done, d.Err = i, err
			return d
		} else {
			d.kept = append(d.kept, e.Seq)
		}
	}
	d.Done = len(events)
	return d
}

func (t *Texts) put(ctx context.Context, e *Event, phone string) error {
	view, err := e.view()
	var text string
	if err == nil {
		text, err = render(t.templates[e.Kind], TextData{Order: e.Order, Kind: e.Kind, Amount: major(view.Amount, view.Currency), Minor: view.Amount,
			Currency: view.Currency, Reference: view.Reference})
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return t.outbox.Accept(ctx, textID(e), phone, text)
}

// textID is the id of an event's text: 1 to 64 of A-Z a-z 0-9 . _ -.
func textID(e *Event) string {
	sum := sha256.Sum256([]byte(e.ID()))
	return string(e.Kind) + "-" + hex.EncodeToString(sum[:16])
}

// digits holds the number of minor digits of currencies that do not have two, by ISO 4217.
var digits = map[string]int{
	"BHD": 3, "IQD": 3, "JOD": 3, "KWD": 3, "LYD": 3, "OMR": 3, "TND": 3, "CLF": 4, "UYW": 4,
	"BIF": 0, "CLP": 0, "DJF": 0, "GNF": 0, "ISK": 0, "JPY": 0, "KMF": 0, "KRW": 0, "PYG": 0, "RWF": 0, "UGX": 0, "UYI": 0, "VND": 0, "VUV": 0, "XAF": 0, "XOF": 0, "XPF": 0,
}

// major formats an amount in major units.
func major(minor int64, currency string) string {
	n, ok := digits[currency]
	if !ok {
		n = 2
	}
	text := strconv.FormatInt(minor, 10)
	if n == 0 {
		return text
	}
	if len(text) <= n {
		text = strings.Repeat("0", n+1-len(text)) + text
	}
	return text[:len(text)-n] + "." + text[len(text)-n:]
}

// A person is the receiver of an order.
type person struct {
	placed          time.Time // when the order was placed; distinguishes orders with the same id
	receiver, phone string
}

// people reads the receivers of the events' orders, by order id. Events do not contain them.
func (s *Sale) people(ctx context.Context, events []Event) (map[string]person, error) {
	ids := make([]string, len(events))
	for i := range events {
		ids[i] = events[i].Order
	}
	slices.Sort(ids)
	people := map[string]person{}
	for some := range slices.Chunk(slices.Compact(ids), maxBatch) {
		if err := s.options.Book.people(ctx, s.ID(), some, people); err != nil {
			return nil, fmt.Errorf("read the receivers of orders: %w", err)
		}
	}
	return people, nil
}

func (b *Database) people(ctx context.Context, sale string, ids []string, people map[string]person) error {
	args := []any{sale}
	for _, id := range ids {
		args = append(args, id)
	}
	query := b.dialect.Bind("SELECT id, placed_at, receiver, phone FROM orders WHERE sale = ? AND id IN (" + sqltext.Marks(len(ids)) + ")")
	return b.transact(ctx, sale, func(tx *transaction) error { // sqltext.Bound makes PostgreSQL use the index
		rows, err := tx.tx.QueryContext(ctx, query, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var id string
			var placed int64
			var p person
			if err := rows.Scan(&id, &placed, &p.receiver, &p.phone); err != nil {
				return err
			}
			p.placed = time.UnixMilli(placed).UTC()
			people[id] = p
		}
		return errors.Join(rows.Err(), rows.Close())
	})
}
