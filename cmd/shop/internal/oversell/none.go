package oversell

import "context"

// None reads the stock, checks it, and writes one less. Two buyers that both read before one of them
// writes get the same item, and one of the two writes is lost: the stock then shows more items than
// exist.
type None struct {
	Shelf *RedisShelf
	Work  Work
}

// Buy implements [Strategy].
func (s *None) Buy(ctx context.Context, order string) error {
	left, err := s.Shelf.Left(ctx)
	if err != nil {
		return err
	}
	if left < 1 {
		return ErrSoldOut
	}
	if err := s.Work(ctx); err != nil {
		return err
	}
	return s.Shelf.Write(ctx, left-1, order)
}
