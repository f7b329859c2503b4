package proof

import "slices"

// A View is the state of a [Board] at one moment.
type View struct {
	Records []Record // in the ledger's order
	Lines   []Line   // in the order in which they were read
}

// Say returns the number of lines with this message that satisfy all conditions.
func (v View) Say(msg string, where ...func(*Line) bool) (n int) {
	for i := range v.Lines {
		if l := &v.Lines[i]; l.Msg == msg && all(l, where) {
			n++
		}
	}
	return n
}

// UnderWay returns the starts of runs that have not ended, in the ledger's order, including the
// runs of dead processes.
func (v View) UnderWay(where ...func(*Record) bool) []Record {
	ended := map[attempt]bool{}
	for i := range v.Records {
		if r := &v.Records[i]; r.Kind == End {
			ended[r.attempt()] = true
		}
	}
	return v.Find(append(slices.Clone(where), func(r *Record) bool { return r.Kind == Start && !ended[r.attempt()] })...)
}

// Find returns the records that satisfy all conditions.
func (v View) Find(where ...func(*Record) bool) (found []Record) {
	for i := range v.Records {
		if r := &v.Records[i]; all(r, where) {
			found = append(found, *r)
		}
	}
	return found
}

func all[T any](x *T, where []func(*T) bool) bool {
	for _, w := range where {
		if !w(x) {
			return false
		}
	}
	return true
}
