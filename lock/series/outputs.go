package series

import (
	"slices"
)

// Outputs are the outputs that a series keeps, the highest numbers first.
type Outputs []KeptOutput

// A KeptOutput is an [Output] as JSON, for stores that keep text.
type KeptOutput struct {
	Number int64  `json:"number"`
	Fence  int64  `json:"fence"`
	Text   string `json:"text"`
}

// Keep keeps an output. It reports whether that changed all.
func (all *Outputs) Keep(o Output) bool {
	at, known := all.find(o.Number)
	kept := KeptOutput{o.Number, o.Fence, o.Text}
	switch {
	case known && ((*all)[at].Fence > o.Fence || (*all)[at] == kept):
		return false
	case known:
		(*all)[at] = kept
	default:
		*all = slices.Insert(*all, at, kept)
	}
	sizes := make([]int, len(*all))
	for i := range *all {
		sizes[i] = len((*all)[i].Text)
	}
	*all = slices.Delete(*all, KeptOutputs(sizes), len(*all))
	return true
}

// Of returns the output of a number, or the zero Output if there is none.
func (all Outputs) Of(key string, number int64) Output {
	at, known := all.find(number)
	if !known {
		return Output{}
	}
	return Output{Key: key, Number: number, Fence: all[at].Fence, Text: all[at].Text}
}

func (all Outputs) find(number int64) (at int, known bool) {
	return slices.BinarySearchFunc(all, number, func(k KeptOutput, number int64) int {
		switch {
		case k.Number > number:
			return -1
		case k.Number < number:
			return 1
		}
		return 0
	})
}
