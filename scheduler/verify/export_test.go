package verify

// Looks returns the number of ticks that were examined one by one.
func (j *Judge) Looks() int { return j.p.work }
