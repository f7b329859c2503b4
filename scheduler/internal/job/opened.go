package job

import "github.com/cronce/cronce/lock/series"

// Opened is the store's state of a job, in answer to an opening.
type Opened struct {
	Job    *Job
	Series *series.Series
	Former []Former // former specs that may have undecided ticks
	Sent   int64    // the mark that the opening named
}
