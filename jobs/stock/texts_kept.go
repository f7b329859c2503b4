package stock

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"github.com/cronce/cronce/jobs/stock/internal/sqltext"
)

const (
	keptAtOnce = 500 // texts whose states are read in one step
	keptSteps  = 4   // steps of one run, unless texts are lost
)

// errTextsLost ends a run that finds another place than it has set. The next run compares the
// texts.
var errTextsLost = errors.New("the outbox has lost texts, or another run was there")

// placeAt returns a place: the number of the last event whose text is in the outbox, and a word
// that changes after each loss. The place is in the outbox's store, so it is lost, or goes back,
// together with the texts.
func placeAt(seq int64, word string) string { return strconv.FormatInt(seq, 10) + " " + word }

// seqOf returns the number of a place; -1: there is none.
func seqOf(place string) int64 {
	digits, _, _ := strings.Cut(place, " ")
	if seq, err := strconv.ParseInt(digits, 10, 64); err == nil && seq >= 0 {
		return seq
	}
	return -1
}

func (t *Texts) list() string { return t.sale.ID() + "/" + t.name }

// A textRun is Texts for one run. If the store has lost the lease of a run, two runs of one node
// may work at once; they must not share a place.
type textRun struct {
	*Texts
	place string // the outbox's place, as the run has read or set it
}

// begin reads the place.
func (t *Texts) begin(ctx context.Context) (*textRun, error) {
	place, _, err := t.outbox.ReadStates(ctx, t.list(), nil)
	return &textRun{t, place}, err
}

// mark gives the place a new word. A store that has this word has all texts that were put before.
func (t *textRun) mark(ctx context.Context) error {
	return t.move(ctx, placeAt(max(0, seqOf(t.place)), rand.Text()))
}

// sure returns nil if the outbox has the texts that the run has put into it. The store may have
// lost some of them meanwhile, without others and without the place.
func (t *textRun) sure(ctx context.Context, events []Event, put []int64) error {
	if len(put) == 0 {
		return nil
	}
	if err := t.mark(ctx); err != nil {
		return err
	}
	ids := make([]string, 0, len(put))
	for i := range events {
		if slices.Contains(put, events[i].Seq) {
			ids = append(ids, textID(&events[i]))
		}
	}
	for some := range slices.Chunk(ids, keptAtOnce) {
		place, states, err := t.outbox.ReadStates(ctx, t.list(), some)
		if err == nil && (place != t.place || slices.Contains(states, TextUnknown)) {
			err = errTextsLost
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// reach moves the place forward: the texts of all events up to seq are in the outbox. It fails if
// texts were lost since the run checked the place.
func (t *textRun) reach(ctx context.Context, seq int64) error {
	if seqOf(t.place) >= seq {
		return nil
	}
	_, word, _ := strings.Cut(t.place, " ")
	return t.move(ctx, placeAt(seq, word))
}

func (t *textRun) move(ctx context.Context, to string) error {
	ok, err := t.outbox.SetPlace(ctx, t.list(), t.place, to)
	if err == nil && !ok {
		err = errTextsLost
	}
	if err == nil {
		t.place = to
	}
	return err
}

// checkTexts reads the states of the texts that the database remembers, and forgets those that
// have ended. It puts lost texts into the outbox again, under the same ids.
func (c *deliveryRun) checkTexts(ctx context.Context) error {
	texts, ok := c.target.(*Texts)
	if !ok {
		return nil
	}
	t, err := texts.begin(ctx)
	switch {
	case err != nil:
	case seqOf(t.place) < c.at.seq:
		err = c.putLost(ctx, t)
	default:
		err = c.forgetEnded(ctx, t)
	}
	if err != nil {
		return c.trouble(ctx, c.at.seq+1, Delivery{Err: err})
	}
	c.target = t
	return nil
}

// forgetEnded forgets ended texts among the next ones that the database remembers; the next run
// continues behind them. The outbox has lost nothing here, so a text that it does not know was
// deleted there.
func (c *deliveryRun) forgetEnded(ctx context.Context, t *textRun) error {
	for range keptSteps {
		k, err := c.keptTexts(ctx, t, t.checkedTo())
		if err != nil {
			return err
		}
		for i := range k.lost {
			k.ended = append(k.ended, k.lost[i].Seq)
		}
		if err := c.book.forgetTexts(ctx, c.sale.ID(), t.name, c.work.fence, k.ended); err != nil {
			return err
		}
		if t.checkFrom(k.next); k.next == 0 {
			return nil
		}
	}
	return nil
}

func (t *Texts) checkedTo() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.checked
}

func (t *Texts) checkFrom(seq int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.checked = seq
}

// putLost puts the remembered texts that the outbox does not know into it again: its store has lost
// data. Meanwhile the place has a word of its own, so that a further loss is noticed.
func (c *deliveryRun) putLost(ctx context.Context, t *textRun) error {
	var lost []Event
	defer func() {
		if len(lost) > 0 {
			c.work.log.Warn("events lost by their target", slog.String("target", t.name), slog.Int64("from", lost[0].Seq), slog.Int64("to", lost[len(lost)-1].Seq), slog.Int("events", len(lost)))
		}
	}()
	err := c.eachKept(ctx, t, func(k kept) error {
		lost = append(lost, k.lost...)
		return c.putAgain(ctx, t, k)
	})
	if err == nil {
		err = c.work.may(ctx, "verify texts")
	}
	if err == nil {
		err = c.eachKept(ctx, t, func(k kept) error {
			if len(k.lost) > 0 {
				return errTextsLost
			}
			return nil
		})
	}
	if err != nil {
		return err
	}
	return t.reach(ctx, c.at.seq)
}

// eachKept calls f with all remembered texts, a page at a time. All pages must be from the same
// place.
func (c *deliveryRun) eachKept(ctx context.Context, t *textRun, f func(kept) error) error {
	if err := t.mark(ctx); err != nil {
		return err
	}
	for after := int64(0); ; {
		k, err := c.keptTexts(ctx, t, after)
		if err == nil {
			err = f(k)
		}
		if after = k.next; err != nil || after == 0 {
			return err
		}
	}
}

// putAgain puts lost texts into the outbox. Events that have no text any more are forgotten, like
// ended ones.
func (c *deliveryRun) putAgain(ctx context.Context, t *textRun, k kept) error {
	d := t.putAll(ctx, k.lost)
	if d.Err != nil {
		return d.Err
	}
	for i := range k.lost {
		if !slices.Contains(d.kept, k.lost[i].Seq) {
			k.ended = append(k.ended, k.lost[i].Seq)
		}
	}
	return c.book.forgetTexts(ctx, c.sale.ID(), t.name, c.work.fence, k.ended)
}

// kept is the state of a page of remembered texts.
type kept struct {
	ended []int64 // events whose texts have ended, and numbers without an event
	lost  []Event // events whose texts the outbox does not know
	next  int64   // the next page begins behind it; 0: there is none
}

// keptTexts reads the states of a page of remembered texts behind an event. It fails if the place
// has changed.
func (c *deliveryRun) keptTexts(ctx context.Context, t *textRun, after int64) (k kept, err error) {
	if err := c.work.may(ctx, "check texts"); err != nil {
		return k, err
	}
	seqs, err := c.book.keptTexts(ctx, c.sale.ID(), t.name, after)
	if err != nil || len(seqs) == 0 {
		return k, err
	}
	if len(seqs) == keptAtOnce {
		k.next = seqs[len(seqs)-1]
	}
	events, err := c.book.eventsAt(ctx, c.sale.ID(), seqs)
	if err != nil {
		return k, err
	}
	ids := make([]string, len(events))
	for i := range events {
		ids[i] = textID(&events[i])
	}
	found, states, err := t.outbox.ReadStates(ctx, t.list(), ids)
	switch {
	case err != nil:
		return k, err
	case found != t.place:
		return k, errTextsLost
	case len(states) != len(ids):
		return k, fmt.Errorf("the outbox returned the states of %d texts, want %d", len(states), len(ids))
	}
	there := map[int64]bool{}
	for i := range events {
		there[events[i].Seq] = true
		switch states[i] {
		case TextEnded:
			k.ended = append(k.ended, events[i].Seq)
		case TextUnknown:
			k.lost = append(k.lost, events[i])
		}
	}
	for _, seq := range seqs {
		if !there[seq] {
			k.ended = append(k.ended, seq)
		}
	}
	return k, nil
}

// keepTexts stores that the texts of events were put into an outbox.
func (tx *transaction) keepTexts(ctx context.Context, target string, seqs []int64) error {
	t := sqltext.Table{Name: "stock_text", Clock: "put_at", Columns: []sqltext.Column{{Name: "target"}, {Name: "seq"}}}
	for _, seq := range seqs {
		t.Add(target, seq)
	}
	if err := tx.write(ctx, &t, sqltext.Upsert(tx.dialect, "stock_text", "sale, target, seq", []string{"put_at"}, nil)); err != nil {
		return fmt.Errorf("remember texts: %w", err)
	}
	return nil
}

// keptTexts reads a page of the events whose texts are remembered.
func (b *Database) keptTexts(ctx context.Context, sale, target string, after int64) (seqs []int64, err error) {
	query := b.dialect.Bind("SELECT seq FROM stock_text WHERE sale = ? AND target = ? AND seq > ? ORDER BY seq LIMIT " + strconv.Itoa(keptAtOnce))
	rows, err := b.db.QueryContext(ctx, query, sale, target, after)
	if err == nil {
		defer rows.Close()
		for err == nil && rows.Next() {
			var seq int64
			err = rows.Scan(&seq)
			seqs = append(seqs, seq)
		}
		err = errors.Join(err, rows.Err(), rows.Close())
	}
	if err != nil {
		return nil, fmt.Errorf("read the texts that are remembered: %w", err)
	}
	return seqs, nil
}

// forgetTexts removes remembered texts.
func (b *Database) forgetTexts(ctx context.Context, sale, target string, fence int64, seqs []int64) error {
	if len(seqs) == 0 {
		return nil
	}
	args := []any{sale, target}
	for _, seq := range seqs {
		args = append(args, seq)
	}
	err := b.transact(ctx, sale, func(tx *transaction) error {
		if err := tx.enter(ctx, delivering+target, fence); err != nil {
			return err
		}
		_, err := tx.tx.ExecContext(ctx, tx.dialect.Bind("DELETE FROM stock_text WHERE sale = ? AND target = ? AND seq IN ("+sqltext.Marks(len(seqs))+")"), args...)
		return err
	})
	if err != nil {
		return fmt.Errorf("forget texts: %w", err)
	}
	return nil
}
