package scheduler

// A roster is all entries in the order in which they were registered. They lie
// together, some at a time: a tick that many jobs share goes through all of them.
// It is not safe for concurrent use.
type roster struct {
	rows [][]entry
	size int
}

const rowSize = 64

// add returns a new entry, to be filled in.
func (r *roster) add() *entry {
	if r.size == len(r.rows)*rowSize {
		r.rows = append(r.rows, make([]entry, rowSize))
	}
	r.size++
	return r.at(r.size - 1)
}

func (r *roster) at(i int) *entry { return &r.rows[i/rowSize][i%rowSize] }
