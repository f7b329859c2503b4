package stock

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// BeginPayment keeps an order from expiring while its payment is under way, for
// Options.PayTime at least from now on. The time is given once: a call again moves
// nothing. An order that is past its time, or in a last state, is an ErrClosed. An id
// that is not known is an ErrUnknownOrder. For doubt see Reserve.
func (s *Sale) BeginPayment(ctx context.Context, id string) (Record, error) {
	if err := checkID(id); err != nil {
		return Record{}, fmt.Errorf("stock: begin payment: %w", err)
	}
	keys := append(s.keys(keyOrder+id), s.keys(keyStock, keyReserved, keyFresh, keyDue, keyUnsettled, keyBought)...)
	return s.close(ctx, "begin payment", id, beginPaymentScript, keys, id, s.options.PayTime.Milliseconds())
}

// Pay records a payment that was made, by its reference, amount and currency, and makes
// what the order reserved sold. An amount or a currency that is not the order's is a
// *FieldError, and nothing is recorded. The same payment again changes nothing.
//
// A payment that the order cannot take, since it is in a last state, past its time, or
// paid already, is recorded as KindSurplus: it is to be refunded. That is an ErrClosed,
// whose *ClosedError has the payment as Surplus.
//
// It refuses with ErrUnknownOrder, ErrReference, or ErrPayments. For doubt see Reserve.
func (s *Sale) Pay(ctx context.Context, id string, p Payment) (Record, error) {
	if err := errors.Join(checkID(id), p.validate()); err != nil {
		return Record{}, fmt.Errorf("stock: pay: %w", err)
	}
	keys := append(s.keys(keyOrder+id), s.keys(keyStock, keyReserved, keySold, keyFresh, keyDue, keyUnsettled,
		keySettled, keyRestored, keyDisputed, keyReference+p.Reference, keyBought)...)
	r, err := s.close(ctx, "pay", id, payScript, keys, id, p.Reference, p.Amount, p.Currency, s.options.Retention.Milliseconds(), MaxPayments)
	if closed, ok := errors.AsType[*ClosedError](err); ok {
		closed.Surplus = p.Reference
	}
	return r, err
}

// Refund records that a payment of an order goes back: the one that has paid it, or a
// surplus one. Of the one that has paid it the items are back in stock, unless they were
// returned before. A payment goes back once: again with the same reference it changes
// nothing, with another it is an ErrRefunded. A payment that the order does not have is
// a *FieldError.
//
// It refuses with ErrUnknownOrder, ErrReference, or ErrPayments. For doubt see Reserve.
func (s *Sale) Refund(ctx context.Context, id, reference, payment string) (Record, error) {
	if err := errors.Join(checkID(id), checkReference("reference", reference), checkReference("payment", payment)); err != nil {
		return Record{}, fmt.Errorf("stock: refund: %w", err)
	}
	return s.close(ctx, "refund", id, refundScript, s.givesBack(id, reference), id, reference, payment, s.options.Retention.Milliseconds(), MaxPayments)
}

// Return records that the items of a paid order came back, and puts them in stock, once.
// The same reference again changes nothing. An order that is not paid, or no longer, is
// an ErrUnpaid. The payment goes back with Refund.
//
// It refuses with ErrUnknownOrder, ErrReference, or ErrPayments. For doubt see Reserve.
func (s *Sale) Return(ctx context.Context, id, reference string) (Record, error) {
	if err := errors.Join(checkID(id), checkReference("reference", reference)); err != nil {
		return Record{}, fmt.Errorf("stock: return: %w", err)
	}
	return s.close(ctx, "return", id, returnScript, s.givesBack(id, reference), id, reference, s.options.Retention.Milliseconds(), MaxPayments)
}

// givesBack are the keys of what puts sold items back in stock.
func (s *Sale) givesBack(id, reference string) []string {
	return append(s.keys(keyOrder+id), s.keys(keyStock, keySold, keyUnsettled, keySettled, keyRestored, keyDisputed,
		keyReturned, keyReference+reference, keyBought)...)
}

// Cancel gives back what an order reserved. An order that is cancelled already
// stays as it is and is no error; one that is being paid is an ErrPaying; one in another
// last state is an ErrClosed. An id that is not known is an ErrUnknownOrder. For doubt
// see Reserve: Cancel may be called again.
func (s *Sale) Cancel(ctx context.Context, id string) (Record, error) {
	if err := checkID(id); err != nil {
		return Record{}, fmt.Errorf("stock: cancel: %w", err)
	}
	keys := append(s.keys(keyOrder+id), s.keys(keyStock, keyReserved, keyFresh, keyDue, keyUnsettled, keyBought)...)
	return s.close(ctx, "cancel", id, cancelScript, keys, id)
}

// close asks a script that changes an order. One that the store has forgotten is put back
// from the book first: what becomes of a payment may come long after Options.Retention.
// The replicas must have what a refusal has recorded, too.
func (s *Sale) close(ctx context.Context, what, id string, script *redis.Script, keys []string, args ...any) (Record, error) {
	r, err := s.closeOnce(ctx, id, script, keys, args)
	if errors.Is(err, ErrUnknownOrder) {
		if err = s.recall(ctx, id); err == nil {
			r, err = s.closeOnce(ctx, id, script, keys, args)
		}
	}
	if err != nil {
		return Record{}, fmt.Errorf("stock: %s %q: %w", what, id, err)
	}
	return r, nil
}

// closeOnce asks a script once. Where the book is waited for, a refusal is believed only of a
// store that has all that the book has: one that went back refuses a step of an order whose
// step before it has lost. The script notices a store that goes back after this check.
func (s *Sale) closeOnce(ctx context.Context, id string, script *redis.Script, keys []string, args []any) (Record, error) {
	r, refusal, err := s.closeAsked(ctx, id, script, keys, args)
	if err == nil && refusal != nil && s.options.Settled {
		if err = s.Probe(ctx); err == nil {
			r, refusal, err = s.closeAsked(ctx, id, script, keys, args)
		}
	}
	if err == nil {
		err = refusal
	}
	return r, err
}

// closeAsked asks a script, and waits for the book to have what it has recorded.
func (s *Sale) closeAsked(ctx context.Context, id string, script *redis.Script, keys []string, args []any) (r Record, refusal, err error) {
	answer, at, err := s.change(ctx, script, keys, args...)
	if err != nil {
		return Record{}, nil, err
	}
	if r, refusal, err = closed(id, answer); err != nil || r.ID == "" {
		return r, refusal, err
	}
	if err = s.settle(ctx, at, r); err == nil {
		s.remember(at.epoch, r)
	}
	return r, refusal, err
}

// recall puts an order back into the store that the book has in a last state.
func (s *Sale) recall(ctx context.Context, id string) error {
	r, err := s.bookedOrder(ctx, s.epoch(), id)
	if err != nil {
		return err
	}
	line, err := booked{Record: r}.line()
	if err == nil {
		_, err = s.ask(ctx, recallScript, s.keys(keyOrder+id), line, s.options.Retention.Milliseconds())
	}
	return err
}

// closed reads what a script says of an order: what the store has recorded of it, if
// anything, and whether it was refused.
func closed(id string, answer []string) (r Record, refusal, err error) {
	switch {
	case is(answer, "ok", 2):
		r, err = parseRecord(id, answer[1])
	case is(answer, "closed", 2):
		if r, err = parseRecord(id, answer[1]); err == nil {
			refusal = &ClosedError{ID: id, State: r.State}
		}
		if len(r.ToRefund()) == 0 {
			r = Record{} // nothing was recorded
		}
	case is(answer, "unpaid", 2):
		if r, err = parseRecord(id, answer[1]); err == nil {
			refusal = fmt.Errorf("it is %s: %w", r.State, ErrUnpaid)
		}
		r = Record{}
	case is(answer, "paying", 2):
		refusal = ErrPaying
	case is(answer, "unknown", 1):
		refusal = ErrUnknownOrder
	case is(answer, "amount", 3):
		refusal = &FieldError{"amount", "another than the order's", "exactly " + answer[1] + " " + answer[2]}
	case is(answer, "no payment", 1):
		refusal = &FieldError{"payment", "not known", "the reference of a payment of this order"}
	case is(answer, "refunded", 2):
		refusal = fmt.Errorf("with reference %s: %w", quote(answer[1]), ErrRefunded)
	case is(answer, "taken", 2), is(answer, "used", 2):
		refusal = fmt.Errorf("by %s: %w", quote(answer[1]), ErrReference)
	case is(answer, "many", 1):
		refusal = ErrPayments
	default:
		err = strange(answer)
	}
	return r, refusal, err
}
