package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/cronce/cronce/cmd/cronce/internal/oversell"
)

// A counter is where the buyers of one process are served.
type counter struct {
	plan   plan
	orders order // with this process's share of the buyers
	env    *oversell.Env
	crowd  *oversell.Crowd
	end    func() // of the strategy
}

// sellHere is a member of a crew: it does what its standard input says until that
// ends, as it does when the parent is gone.
func sellHere(ctx context.Context, stdin io.Reader, stdout io.Writer) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	told := make(chan order)
	go func() { // ends with the standard input, or with the process
		defer stop()
		for in := json.NewDecoder(stdin); ; {
			var o order
			if in.Decode(&o) != nil {
				return
			}
			select {
			case told <- o:
			case <-ctx.Done():
				return
			}
		}
	}()
	c, out := &counter{}, json.NewEncoder(stdout)
	defer c.close()
	for {
		select {
		case <-ctx.Done():
			return nil
		case o := <-told:
			answers, err := c.do(ctx, o)
			r := reply{Answers: answers}
			if err != nil {
				r.Error = err.Error()
			}
			if err := out.Encode(r); err != nil {
				return err
			}
		}
	}
}

// do follows one order.
func (c *counter) do(ctx context.Context, o order) (*oversell.Answers, error) {
	switch {
	case o.Plan != nil:
		c.plan, c.orders = *o.Plan, o
		env, err := c.plan.connect(ctx)
		c.env = env
		return nil, err
	case c.env == nil:
		return nil, errors.New("there is no plan yet")
	case o.Strategy != "":
		return nil, c.prepare(o.Strategy)
	case c.crowd == nil:
		return nil, errors.New("there is no strategy yet")
	}
	return c.letIn(ctx), nil
}

// prepare lines the buyers up.
func (c *counter) prepare(strategy string) error {
	s, end, err := c.env.Open(strategy)
	if err != nil {
		return err
	}
	c.crowd, c.end = oversell.Gather(s, c.env.OrderIDs(strategy)[c.orders.First:c.orders.Last]), end
	return nil
}

func (c *counter) letIn(ctx context.Context) *oversell.Answers {
	ctx, stop := context.WithTimeout(ctx, c.plan.Patience)
	defer stop()
	answers := c.crowd.LetIn(ctx)
	c.end()
	c.crowd, c.end = nil, nil
	return &answers
}

func (c *counter) close() {
	if c.end != nil {
		c.end()
	}
	if c.env != nil {
		disconnect(c.env)
	}
}
