package oversell

import (
	"context"
	"errors"
	"sync"
	"time"
)

// A Crowd is buyers that stand before a closed door, each with the id of an order.
type Crowd struct {
	seller  Strategy
	door    chan struct{}
	ctx     context.Context // set before the door opens
	inside  sync.WaitGroup
	mu      sync.Mutex
	answers Answers
}

// Answers are the replies to the buyers of one process.
type Answers struct {
	Sold    int           `json:"sold"`
	SoldOut int           `json:"sold_out"`
	Errors  int           `json:"errors"`
	Error   string        `json:"error,omitempty"` // the first
	Waited  []int64       `json:"waited"`          // µs until each had an answer
	Took    time.Duration `json:"took"`            // from the opening of the door to the last answer

	HandOvers int64 `json:"hand_overs,omitempty"` // turns of buyers that wait for each other; 0: they do not
}

// Gather lines up the buyers before the door. [Crowd.LetIn] must follow.
func Gather(s Strategy, orders []string) *Crowd {
	c := &Crowd{seller: s, door: make(chan struct{})}
	for _, order := range orders {
		c.inside.Go(func() {
			<-c.door
			began := time.Now()
			c.count(s.Buy(c.ctx, order), time.Since(began))
		})
	}
	return c
}

func (c *Crowd) count(err error, waited time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := &c.answers
	a.Waited = append(a.Waited, waited.Microseconds())
	switch {
	case err == nil:
		a.Sold++
	case errors.Is(err, ErrSoldOut):
		a.SoldOut++
	default:
		if a.Errors++; a.Errors == 1 {
			a.Error = err.Error()
		}
	}
}

// LetIn opens the door for all at once and returns when each has an answer, at the
// latest when ctx has ended and they have noticed.
func (c *Crowd) LetIn(ctx context.Context) Answers {
	c.ctx = ctx
	began := time.Now()
	close(c.door)
	c.inside.Wait()
	c.answers.Took = time.Since(began)
	if s, ok := c.seller.(interface{ HandOvers() int64 }); ok {
		c.answers.HandOvers = s.HandOvers()
	}
	return c.answers
}
