package sale

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/cronce/cronce/cmd/shop/internal/oversell"
)

// A server serves the buyers of one process.
type server struct {
	openRedis Connect

	plan   plan
	share  request // the request with this process's share of the buyers
	env    *oversell.Env
	buyers *oversell.Buyers
	end    func() // ends the strategy
}

// Work is a worker process. It answers the requests of its standard input until that ends, as it
// does when the parent process ends.
func Work(ctx context.Context, stdin io.Reader, stdout io.Writer, c Connect) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	requests := make(chan request)
	go func() { // ends with the standard input, or with the process
		defer stop()
		for in := json.NewDecoder(stdin); ; {
			var r request
			if in.Decode(&r) != nil {
				return
			}
			select {
			case requests <- r:
			case <-ctx.Done():
				return
			}
		}
	}()
	s, out := &server{openRedis: c}, json.NewEncoder(stdout)
	defer s.close()
	for {
		select {
		case <-ctx.Done():
			return nil
		case r := <-requests:
			answers, err := s.do(ctx, r)
			reply := response{Answers: answers}
			if err != nil {
				reply.Error = err.Error()
			}
			if err := out.Encode(reply); err != nil {
				return err
			}
		}
	}
}

// do executes one request.
func (s *server) do(ctx context.Context, r request) (*oversell.Answers, error) {
	switch {
	case r.Plan != nil:
		s.plan, s.share = *r.Plan, r
		s.plan.openRedis = s.openRedis
		env, err := s.plan.connect(ctx)
		s.env = env
		return nil, err
	case s.env == nil:
		return nil, errors.New("there is no plan yet")
	case r.Strategy != "":
		return nil, s.prepare(r.Strategy)
	case s.buyers == nil:
		return nil, errors.New("there is no strategy yet")
	}
	return s.startBuyers(ctx), nil
}

// prepare creates the buyers of a strategy.
func (s *server) prepare(strategy string) error {
	seller, end, err := s.env.Open(strategy)
	if err != nil {
		return err
	}
	s.buyers, s.end = oversell.NewBuyers(seller, s.env.OrderIDs(strategy)[s.share.First:s.share.Last]), end
	return nil
}

func (s *server) startBuyers(ctx context.Context) *oversell.Answers {
	ctx, stop := context.WithTimeout(ctx, s.plan.Patience)
	defer stop()
	answers := s.buyers.Start(ctx)
	s.end()
	s.buyers, s.end = nil, nil
	return &answers
}

func (s *server) close() {
	if s.end != nil {
		s.end()
	}
	if s.env != nil {
		disconnect(s.env)
	}
}
