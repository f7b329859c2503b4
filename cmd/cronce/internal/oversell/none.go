package oversell

import "context"

// None reads the stock, checks it, and writes one less. Two buyers that read
// before one of them writes both get the last item, and one of the two writes is
// lost: the stock then says that there is more left than there is.
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
