package scheduler

// A slab allocates values some at a time. One that lives long keeps its few
// neighbours. It is not safe for concurrent use.
type slab[T any] struct{ room []T }

// slabSize is such that runs fill what the allocator gives for them.
const slabSize = 15

func (s *slab[T]) next() *T {
	if len(s.room) == 0 {
		s.room = make([]T, slabSize)
	}
	v := &s.room[0]
	s.room = s.room[1:]
	return v
}
