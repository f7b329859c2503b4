package sms

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Bounds of a page.
const (
	MaxPage    = 10_000 // records
	stepLength = 200    // messages that one script reads
	maxSteps   = 100    // for one page, if a filter matches few
)

// A Query selects the messages of a page.
type Query struct {
	// State is the state of the messages. Empty: all states.
	State State
	// Broken selects the messages that were put aside because they cannot be read, instead of a
	// State.
	Broken bool
	// Since and Before bound Record.Changed: Since is included, Before is not. Zero: no bound.
	Since, Before time.Time
	// Suffix is a suffix of the recipient's number, in digits. Empty: any.
	Suffix string
	// Cursor is the Next of the previous page of the same query. Empty: the first page.
	Cursor string
	// Limit bounds the records of the page: 1 to MaxPage.
	Limit int
}

// A Page is a page of messages.
type Page struct {
	Records []Record
	Next    string // Query.Cursor of the next page; empty: there is none
}

// Page reads one page. Queued messages come in the order of due time, refused ones
// behind the others. Ended messages, and those that were put aside, come newest first. An
// unreadable message is Broken and hides no other. The page is read in steps of 200 messages, none
// of which blocks the store for long. A message that changes its state meanwhile may be on two
// pages or on none; every other message is on exactly one. With a filter a page may have fewer
// records than Limit, or none, and still a Next, because one call reads at most 20,000 messages.
func (o *Outbox) Page(ctx context.Context, q Query) (Page, error) {
	page, err := o.page(ctx, q)
	if err != nil {
		return page, fmt.Errorf("sms: list: %w", err)
	}
	return page, nil
}

func (o *Outbox) page(ctx context.Context, q Query) (Page, error) {
	sets := q.sets()
	at, err := q.place(sets)
	if err = errors.Join(q.validate(), err); err != nil {
		return Page{}, err
	}
	var page Page
	for steps := 0; len(page.Records) < q.Limit; steps++ {
		if at.set == len(sets) {
			return page, nil
		}
		if steps == maxSteps {
			break
		}
		n := stepLength
		if !q.filtered() {
			n = min(n, q.Limit-len(page.Records))
		}
		got, last, err := o.step(ctx, sets[at.set], at.place, n)
		if err != nil {
			return page, fmt.Errorf("%s: %w", sets[at.set], err)
		}
		for i, s := range got {
			if q.fits(&s.Record) {
				page.Records = append(page.Records, s.Record)
			}
			if len(page.Records) == q.Limit && i < len(got)-1 {
				at.place = place{s.score, s.Message.ID}
				page.Next = at.cursor(sets)
				return page, nil
			}
		}
		if at.place = last; len(got) < n {
			at = position{set: at.set + 1}
		}
	}
	if at.set < len(sets) {
		page.Next = at.cursor(sets)
	}
	return page, nil
}

// List reads up to limit messages, in the order of Page: those in the state, or all if it is empty.
func (o *Outbox) List(ctx context.Context, state State, limit int) ([]Record, error) {
	return o.list(ctx, Query{State: state}, limit)
}

// Broken reads up to limit messages that were put aside because they cannot be read, newest first.
// Record.Broken has the reason.
func (o *Outbox) Broken(ctx context.Context, limit int) ([]Record, error) {
	return o.list(ctx, Query{Broken: true}, limit)
}

func (o *Outbox) list(ctx context.Context, q Query, limit int) ([]Record, error) {
	if limit < 1 {
		return nil, fmt.Errorf("sms: list: %w", &FieldError{"limit", strconv.Itoa(limit), "1 or more"})
	}
	var all []Record
	for {
		q.Limit = min(limit-len(all), MaxPage)
		page, err := o.Page(ctx, q)
		all = append(all, page.Records...)
		if q.Cursor = page.Next; err != nil || q.Cursor == "" || len(all) == limit {
			return all, err
		}
	}
}

// sets returns the sets that the query reads, in order.
func (q *Query) sets() []string {
	states := []State{q.State}
	switch {
	case q.Broken:
		return []string{keyBroken}
	case q.State == "":
		states = States()
	}
	var sets []string
	for _, s := range states {
		if s == Queued {
			sets = append(sets, keyQueued, keyRetry)
		} else {
			sets = append(sets, string(s))
		}
	}
	return sets
}

func (q *Query) validate() error {
	var errs []error
	if q.State != "" {
		_, err := ParseState(string(q.State))
		errs = append(errs, err)
	}
	if q.State != "" && q.Broken {
		errs = append(errs, &FieldError{"broken", "asked for with a state", "one of them"})
	}
	if q.Limit < 1 || q.Limit > MaxPage {
		errs = append(errs, &FieldError{"limit", strconv.Itoa(q.Limit), fmt.Sprintf("1 to %d", MaxPage)})
	}
	if len(q.Suffix) > 15 || strings.Trim(q.Suffix, "0123456789") != "" {
		errs = append(errs, &FieldError{"suffix", quoteNumber(q.Suffix), "up to 15 digits"})
	}
	return errors.Join(errs...)
}

func (q *Query) filtered() bool {
	return q.Suffix != "" || !q.Since.IsZero() || !q.Before.IsZero()
}

func (q *Query) fits(r *Record) bool {
	switch {
	case !strings.HasSuffix(r.Message.To, q.Suffix),
		!q.Since.IsZero() && r.Changed.Before(q.Since),
		!q.Before.IsZero() && !r.Changed.Before(q.Before):
		return false
	}
	if q.Broken {
		r.Broken = cmp.Or(r.Broken, "its status was not that of a message that waits")
	}
	return true
}

// A place is a message of a set; reading continues behind it. The zero value is the beginning.
type place struct{ score, id string }

// A position is a place in one of several sets.
type position struct {
	set int
	place
}

func (p position) cursor(sets []string) string { return sets[p.set] + ":" + p.score + ":" + p.id }

// place reads the cursor.
func (q *Query) place(sets []string) (position, error) {
	if q.Cursor == "" {
		return position{}, nil
	}
	parts := strings.SplitN(q.Cursor, ":", 3)
	set := slices.Index(sets, parts[0])
	if len(parts) != 3 || set < 0 || len(q.Cursor) > 512 {
		return position{}, &FieldError{"cursor", quote(q.Cursor), "the next of the previous page of the same query"}
	}
	if score, err := strconv.ParseFloat(parts[1], 64); parts[1]+parts[2] != "" && (err != nil || math.IsNaN(score) || parts[2] == "") {
		return position{}, &FieldError{"cursor", quote(q.Cursor), "the next of the previous page of the same query"}
	}
	return position{set, place{parts[1], parts[2]}}, nil
}

// placed is a message and its score in the set in which it was found.
type placed struct {
	status
	score string
}

// step reads up to n messages of a set behind a place, and returns the place of the last one.
func (o *Outbox) step(ctx context.Context, set string, from place, n int) ([]placed, place, error) {
	reverse := 0
	if slices.Contains([]string{keySent, keyFailed, keyExpired, keyBroken, keyCancelled}, set) {
		reverse = 1
	}
	flat, err := pageScript.Run(ctx, o.client, o.keys(keyBody, keyStatus, set), n, reverse, from.score, from.id).StringSlice()
	if err == nil && len(flat)%4 != 0 {
		err = fmt.Errorf("%d values in an answer of fours", len(flat))
	}
	if err != nil {
		return nil, from, err
	}
	got := make([]placed, 0, len(flat)/4)
	for f := range slices.Chunk(flat, 4) {
		got = append(got, placed{parseRecord(f[1], f[2], f[3]), f[0]})
		from = place{f[0], f[1]}
	}
	return got, from, nil
}
