package job

// Rows holds a value for each job, by the job's number. The values lie together in blocks and never
// move, because a tick that many jobs share goes through all of them. The zero Rows is empty. Rows
// is not safe for concurrent use.
type Rows[T any] struct {
	rows [][]T
	size int
}

// rowSize leaves room for the header that the allocator puts before values with pointers: a row of
// values of 8, 16, … 64 bytes fills its allocation.
const rowSize = 127

// Add adds a value for the next job and returns it.
func (r *Rows[T]) Add() *T {
	if r.size == len(r.rows)*rowSize {
		r.rows = append(r.rows, make([]T, rowSize))
	}
	r.size++
	return r.At(r.size - 1)
}

// At returns the value of the job with this number.
func (r *Rows[T]) At(no int) *T { return &r.rows[no/rowSize][no%rowSize] }

// Size returns the number of values.
func (r *Rows[T]) Size() int { return r.size }
