package series

import (
	"slices"
)

// Outputs are the outputs that a series keeps, the highest numbers first, without its key. Stores
// that keep text keep them as JSON.
type Outputs []Output

// Keep keeps an output. It reports whether that changed all.
func (all *Outputs) Keep(o Output) bool {
	at, known := all.find(o.Number)
	o.Key = ""
	switch {
	case known && ((*all)[at].above(&o) || (*all)[at] == o):
		return false
	case known:
		(*all)[at] = o
	default:
		*all = slices.Insert(*all, at, o)
	}
	sizes := make([]int, len(*all))
	for i := range *all {
		sizes[i] = len((*all)[i].Text)
	}
	*all = slices.Delete(*all, KeptOutputs(sizes), len(*all))
	return true
}

// above reports whether the output stays when another one of its number comes.
func (o *Output) above(other *Output) bool {
	if o.Failed != other.Failed {
		return o.Failed
	}
	return o.Fence > other.Fence
}

// Of returns the output of a number, or the zero Output if there is none.
func (all Outputs) Of(key string, number int64) Output {
	at, known := all.find(number)
	if !known {
		return Output{}
	}
	o := all[at]
	o.Key = key
	return o
}

func (all Outputs) find(number int64) (at int, known bool) {
	return slices.BinarySearchFunc(all, number, func(o Output, number int64) int {
		switch {
		case o.Number > number:
			return -1
		case o.Number < number:
			return 1
		}
		return 0
	})
}
