package sms

import (
	"context"
	"errors"
	"fmt"
	"strconv"
)

// stepLength is the number of messages that one script reads.
const stepLength = 200

// List reads up to limit messages (1 or more) in the state, or in all states, one state after another,
// if the state is empty. It lists the newest messages of a state first. For Queued these are the messages
// that are due last, and messages that were refused before follow the others. It reads in steps of 200
// messages, so that no step blocks the store for long. A message that changes its state meanwhile may be
// missing or appear twice.
func (o *Outbox) List(ctx context.Context, state State, limit int) ([]Record, error) {
	all, err := o.list(ctx, state, limit)
	if err != nil {
		return all, fmt.Errorf("sms: list: %w", err)
	}
	return all, nil
}

func (o *Outbox) list(ctx context.Context, state State, limit int) (all []Record, err error) {
	of := states
	if state != "" {
		_, err = parseState(string(state))
		of = []State{state}
	}
	if limit < 1 {
		err = errors.Join(err, &FieldError{"limit", strconv.Itoa(limit), "1 or more"})
	}
	for _, state := range of {
		sets := []string{string(state)}
		if state == Queued {
			sets = append(sets, keyRetry)
		}
		for _, set := range sets {
			for at := 0; err == nil && len(all) < limit; {
				n := min(stepLength, limit-len(all))
				var got []status
				got, err = o.step(ctx, set, at, n)
				for i := range got {
					all = append(all, got[i].Record)
				}
				if at += n; len(got) < n {
					break
				}
			}
		}
	}
	return all, err
}

// step reads up to n messages of a set, behind its newest ones.
func (o *Outbox) step(ctx context.Context, set string, behind, n int) ([]status, error) {
	flat, err := listScript.Run(ctx, o.client, o.keys(keyBody, keyStatus, set), behind, n).StringSlice()
	if err != nil {
		return nil, err
	}
	got, err := parseRecords(flat)
	for i := range got {
		if r := &got[i].Record; set == keyBroken && r.State != Broken {
			r.State, r.Reason = Broken, "a run has taken it, and its state was "+string(r.State)
		}
	}
	return got, err
}
