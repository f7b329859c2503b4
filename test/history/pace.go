package history

import "time"

// slowest is the slowest pace: at it a request may take 32 times as long as at full speed.
const slowest = 32

// Paced records a history at full speed, and again at half the speed while fewer than enough requests
// for a lease were granted: a history without grants says nothing about its store. It multiplies each
// duration of the recording by the pace. A busy machine has the pace at which its requests are in time.
func Paced(enough int, record func(pace time.Duration) []Op) (ops []Op, pace time.Duration) {
	for pace = 1; ; pace *= 2 {
		if ops = record(pace); grants(ops) >= enough || pace == slowest {
			return ops, pace
		}
	}
}

// Find records histories of a store with a fault until one of them refutes it, and returns the error
// of [Check]. After twelve histories it returns the last error, which may be nil: a fault may need
// more than one history to show. A pace is chosen as [Paced] does.
func Find(enough int, l Limits, record func(pace time.Duration) []Op) error {
	var err error
	for pace, rest := time.Duration(1), 12; rest > 0; rest-- {
		ops := record(pace)
		if err = Check(ops, l.At(pace)); Refuted(err) {
			return err
		}
		if grants(ops) < enough && pace < slowest {
			pace *= 2
		}
	}
	return err
}

// At returns the limits of a history that was recorded at a pace.
func (l Limits) At(pace time.Duration) Limits {
	l.Late *= pace
	l.Over *= pace
	return l
}

func grants(ops []Op) int {
	n := 0
	for _, o := range ops {
		if o.Kind == Acquire && o.Outcome == OK {
			n++
		}
	}
	return n
}
