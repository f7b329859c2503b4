package scheduler

import (
	"fmt"
	"slices"
)

// A Middleware wraps the functions of jobs, for a need of several jobs: a trace, a limit, a
// transaction. It is called once for each job, when the node gets the job, and the function that
// it returns is called for each try of each run, in place of the one that it was given. That
// function runs where the job's would: it returns soon after its context ended, its panic is
// recovered, and the error that it returns is the error of the try. It sees the errors of the functions
// inside it, also the errors of Skip, Permanent and RetryAfter, and may wrap them.
type Middleware = func(Func) Func

// wrap returns the functions of jobs in their middleware, the node's outermost, and the faults of
// the middleware of jobs. It calls the user's code: no mutex is held.
func wrap(jobs []Job, node []Middleware) (funcs []Func, errs []error) {
	funcs = make([]Func, len(jobs))
	for i := range jobs {
		f := jobs[i].Func
		if f == nil {
			continue // a fault of the job
		}
		inside := func(path string, all []Middleware) {
			for k := len(all) - 1; k >= 0 && f != nil; k-- {
				if all[k] == nil {
					f = nil
					errs = append(errs, fmt.Errorf("%s[%d]: is nil", path, k))
				} else if f = all[k](f); f == nil {
					errs = append(errs, fmt.Errorf("%s[%d]: returned no function", path, k))
				}
			}
		}
		inside(fmt.Sprintf("jobs[%d].middleware", i), jobs[i].Middleware)
		if !slices.ContainsFunc(node, func(m Middleware) bool { return m == nil }) { // a fault of the configuration
			inside(fmt.Sprintf("jobs[%d]: middleware", i), node)
		}
		funcs[i] = f
	}
	return funcs, errs
}
