package series

// Peek returns the answer to a claim of n by an owner that the store has not seen, if that answer
// is Passed, and nil otherwise.
func (s *State) Peek(us, n int64) *Answer {
	ms := us / 1000
	if n > s.Mark && !s.manual(n) || s.Mark > ms+Tolerance {
		return nil
	}
	a := s.passed(ms, n)
	a.Mark, a.Last, a.Now = s.Mark, s.Last, ms
	return &a
}
