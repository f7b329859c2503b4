package stock

import (
	"context"
	"errors"
	"fmt"

	"github.com/cronce/cronce/jobs/stock/internal/format"
	"github.com/redis/go-redis/v9"
)

// Pay records a payment by its reference, amount and currency, and marks the items of the order as
// sold. If amount or currency are not the order's, it refuses with a *FieldError and records
// nothing. A repeated call changes nothing.
//
// A payment that the order cannot take, because it is in a last state, past its time, or already
// paid, is recorded as a surplus and has to be refunded. The error is then an ErrClosed, whose
// *RefusalError has the payment as Surplus.
//
// It refuses with ErrUnknownOrder, reference-taken, or too-many-payments. For doubt see Reserve.
func (s *Sale) Pay(ctx context.Context, id string, p Payment) (Record, error) {
	if err := errors.Join(checkID(id), p.validate()); err != nil {
		return Record{}, fmt.Errorf("stock: pay: %w", err)
	}
	keys := append(s.keys(keyOrder+id), s.keys(keyStock, keyReserved, keySold, keyFresh, keyDue, keyUnsettled, keyReference+p.Reference, keyBought)...)
	r, err := s.close(ctx, "pay", id, payScript, keys, id, p.Reference, p.Amount, p.Currency, s.options.Retention.Milliseconds(), maxPayments)
	if closed, ok := errors.AsType[*RefusalError](err); ok && errors.Is(err, ErrClosed) {
		closed.Surplus = p.Reference
	}
	return r, err
}

// Refund records the refund of a payment of an order: the payment that paid it, or a surplus one.
// With the former, the items are put back in stock, unless they were returned before. A payment is
// refunded once: a repeated call with the same reference changes nothing, and another reference is
// refused (refunded). A payment that the order does not have is a *FieldError.
//
// It refuses with ErrUnknownOrder, reference-taken, or too-many-payments. For doubt see Reserve.
func (s *Sale) Refund(ctx context.Context, id, reference, payment string) (Record, error) {
	if err := errors.Join(checkID(id), checkReference("reference", reference), checkReference("payment", payment)); err != nil {
		return Record{}, fmt.Errorf("stock: refund: %w", err)
	}
	return s.close(ctx, "refund", id, refundScript, s.givesBack(id, reference), id, reference, payment, s.options.Retention.Milliseconds(), maxPayments)
}

// Return records that the items of a paid order were returned, and puts them back in stock once. A
// repeated call with the same reference changes nothing. It refuses (unpaid) if the order is
// not paid, or no longer. Refund records the payment's way back.
//
// It refuses with ErrUnknownOrder, reference-taken, or too-many-payments. For doubt see Reserve.
func (s *Sale) Return(ctx context.Context, id, reference string) (Record, error) {
	if err := errors.Join(checkID(id), checkReference("reference", reference)); err != nil {
		return Record{}, fmt.Errorf("stock: return: %w", err)
	}
	return s.close(ctx, "return", id, returnScript, s.givesBack(id, reference), id, reference, s.options.Retention.Milliseconds(), maxPayments)
}

// givesBack returns the keys of scripts that put sold items back in stock.
func (s *Sale) givesBack(id, reference string) []string {
	return append(s.keys(keyOrder+id), s.keys(keyStock, keySold, keyUnsettled, keyReference+reference, keyBought)...)
}

// Cancel puts the items of a reserved order back in stock. Cancelling a cancelled order changes
// nothing and is no error. It refuses with ErrClosed
// in another last state, and with ErrUnknownOrder. For doubt see Reserve: Cancel may be called
// again.
func (s *Sale) Cancel(ctx context.Context, id string) (Record, error) {
	if err := checkID(id); err != nil {
		return Record{}, fmt.Errorf("stock: cancel: %w", err)
	}
	keys := append(s.keys(keyOrder+id), s.keys(keyStock, keyReserved, keyFresh, keyDue, keyUnsettled, keyBought)...)
	return s.close(ctx, "cancel", id, cancelScript, keys, id)
}

// close runs a script that changes an order. If the store has forgotten the order, it is first
// restored from the book, because a refund may come long after Options.Retention. A refusal that
// records a payment needs the confirmation of the replicas, too.
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

// closeOnce runs a script. With Options.Settled, a refusal counts only if the store has everything
// that the book has: a store that lost a step of the order refuses the next one. A loss after this
// comparison is noticed by the script itself.
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

// closeAsked runs a script and waits until the book has the recorded change.
func (s *Sale) closeAsked(ctx context.Context, id string, script *redis.Script, keys []string, args []any) (r Record, refusal, err error) {
	answer, at, err := s.change(ctx, script, keys, args...)
	if err != nil {
		return Record{}, nil, err
	}
	if r, refusal, err = closed(id, answer); err != nil || r.ID == "" {
		return r, refusal, err
	}
	err = s.await(ctx, entry{record: r, at: at})
	if errors.Is(err, errConflict) {
		var have Record
		have, err = s.contradicted(ctx, at.epoch, r)
		if err == nil && (have.State != r.State || len(r.Payments) > 0) { // the book's order may have another payment
			err = &RefusalError{Code: "closed", State: have.State}
		}
		r = have
	}
	return r, refusal, err
}

// recall restores an order from the book into the store, in its last state.
func (s *Sale) recall(ctx context.Context, id string) error {
	r, err := s.bookedOrder(ctx, s.epoch(), id)
	if err != nil {
		return err
	}
	line, err := r.line()
	if err == nil {
		_, err = s.runScript(ctx, recallScript, s.keys(keyOrder+id), line, s.options.Retention.Milliseconds())
	}
	return err
}

// closed parses the answer of a script about an order: the record, if the store recorded anything,
// and the refusal, if there is one.
func closed(id string, answer []string) (r Record, refusal, err error) {
	switch {
	case is(answer, "ok", 2):
		r, err = parseRecord(id, answer[1])
	case is(answer, "closed", 2):
		if r, err = parseRecord(id, answer[1]); err == nil {
			refusal = &RefusalError{Code: "closed", State: r.State}
		}
		if len(r.ToRefund()) == 0 {
			r = Record{} // nothing was recorded
		}
	case is(answer, "unpaid", 2):
		if r, err = parseRecord(id, answer[1]); err == nil {
			refusal = fmt.Errorf("it is %s: %w", r.State, errUnpaid)
		}
		r = Record{}
	case is(answer, "unknown", 1):
		refusal = ErrUnknownOrder
	case is(answer, "amount", 3):
		refusal = &FieldError{"amount", "another than the order's", "exactly " + answer[1] + " " + answer[2]}
	case is(answer, "no payment", 1):
		refusal = &FieldError{"payment", "not known", "the reference of a payment of this order"}
	case is(answer, "refunded", 2):
		refusal = fmt.Errorf("with reference %s: %w", format.Quote(answer[1]), errRefunded)
	case is(answer, "taken", 2), is(answer, "used", 2):
		refusal = fmt.Errorf("by %s: %w", format.Quote(answer[1]), errReference)
	case is(answer, "many", 1):
		refusal = errPayments
	default:
		err = unknownAnswer(answer)
	}
	return r, refusal, err
}
