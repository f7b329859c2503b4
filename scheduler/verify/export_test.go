package verify

// Looks is how many ticks were looked at one by one.
func (j *Judge) Looks() int { return j.p.work }
