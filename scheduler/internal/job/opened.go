package job

import "github.com/cronce/cronce/lock/series"

// Opened is what the store has of a job, in answer to an opening.
type Opened struct {
	Job    *Job
	Series *series.Series
	Former []Former // specs of which ticks may be undecided
	Sent   int64    // the mark that the opening named
}
