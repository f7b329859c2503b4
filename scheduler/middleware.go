package scheduler

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cronce/cronce/internal/panictext"
	"github.com/cronce/cronce/scheduler/internal/text"
)

// A Middleware wraps the functions of jobs, for a need that several jobs share: a trace, a check, a
// transaction. It is called once for each job, when the node gets the job; if it panics or
// returns nil then, the job is refused. The function that it
// returns is called for each try of each run, in place of the function that it was given. The same
// rules hold as for a job's function: it returns soon after its context ended, a panic is
// recovered, and its error is the error of the try. It gets the errors of the functions inside it,
// including Skip, Permanent and RetryAfter, and may wrap them.
type Middleware = func(Func) Func

// wrap returns the functions of jobs in their limits and in their middleware, with the node's
// outermost, and the faults of the jobs' middleware. It calls user code, so no mutex may be held.
func wrap(jobs []Job, node []Middleware, limits *places) (funcs []Func, errs []error) {
	funcs = make([]Func, len(jobs))
	for i := range jobs {
		f := jobs[i].Func
		if f == nil {
			continue // reported as a fault of the job
		}
		if jobs[i].Limit != (Limit{}) {
			f = limits.around(&jobs[i], f)
		}
		inside := func(path string, all []Middleware) {
			for k := len(all) - 1; k >= 0 && f != nil; k-- {
				if all[k] == nil {
					f = nil
					errs = append(errs, fmt.Errorf("%s[%d]: is nil", path, k))
				} else if outer, err := around(all[k], f); err != nil {
					f = nil
					errs = append(errs, fmt.Errorf("%s[%d]: %w", path, k, err))
				} else {
					f = outer
				}
			}
		}
		inside(fmt.Sprintf("jobs[%d].middleware", i), jobs[i].Middleware)
		if !slices.ContainsFunc(node, func(m Middleware) bool { return m == nil }) { // otherwise reported as a fault of the configuration
			inside(fmt.Sprintf("jobs[%d]: middleware", i), node)
		}
		funcs[i] = f
	}
	return funcs, errs
}

// around calls a middleware. If it panics or returns no function, that is a fault of the configuration:
// a node that runs must survive it, since it may get jobs at any time.
func around(m Middleware, inner Func) (outer Func, err error) {
	defer func() {
		if v := recover(); v != nil {
			outer, err = nil, errors.New("panicked: "+text.Error(panictext.Of(v)))
		}
	}()
	if outer = m(inner); outer == nil {
		return nil, errors.New("returned no function")
	}
	return outer, nil
}
