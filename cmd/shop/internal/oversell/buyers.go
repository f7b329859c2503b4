package oversell

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Buyers are the buyers of one process, each with the id of an order. They wait for [Buyers.Start].
type Buyers struct {
	seller  Strategy
	start   chan struct{}
	ctx     context.Context // set before the start
	running sync.WaitGroup
	mu      sync.Mutex
	answers Answers
}

// Answers are the replies to the buyers of one process.
type Answers struct {
	Sold    int           `json:"sold"`
	SoldOut int           `json:"sold_out"`
	Errors  int           `json:"errors"`
	Error   string        `json:"error,omitempty"` // the first
	Waited  []int64       `json:"waited"`          // µs until each got an answer
	Took    time.Duration `json:"took"`            // from the start to the last answer

	HandOvers int64 `json:"hand_overs,omitempty"` // turns of buyers that wait in line; 0: the strategy has no line
}

// NewBuyers makes one buyer for each order. The buyers wait for [Buyers.Start], which must follow.
func NewBuyers(s Strategy, orders []string) *Buyers {
	b := &Buyers{seller: s, start: make(chan struct{})}
	for _, order := range orders {
		b.running.Go(func() {
			<-b.start
			began := time.Now()
			b.count(s.Buy(b.ctx, order), time.Since(began))
		})
	}
	return b
}

func (b *Buyers) count(err error, waited time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	a := &b.answers
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

// Start starts all buyers at once and returns when each has an answer, or when ctx has ended.
func (b *Buyers) Start(ctx context.Context) Answers {
	b.ctx = ctx
	began := time.Now()
	close(b.start)
	b.running.Wait()
	b.answers.Took = time.Since(began)
	if s, ok := b.seller.(interface{ HandOvers() int64 }); ok {
		b.answers.HandOvers = s.HandOvers()
	}
	return b.answers
}
