package health

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/cronce/cronce/lock/driver"
)

// Name returns the parts that are down with their reasons, without addresses, users or keys.
func (h *Health) Name(down []Fault) string {
	names := make([]string, len(down))
	for i, f := range down {
		names[i] = kinds[f.Kind]
		if h.partitions > 1 {
			names[i] += fmt.Sprintf(" of partition %d of %d", f.Partition+1, h.partitions)
		}
		names[i] += ": " + h.Explain(f.Err)
	}
	return List(names, len(names))
}

// Reached reports whether the store answered a request that has this error. It did if the request
// succeeded, if only replicas were missing, or if only the stored state of that job is faulty.
func Reached(err error) bool {
	_, short := errors.AsType[*driver.ReplicasError](err)
	return err == nil || short || errors.Is(err, driver.ErrUnreadable) || errors.Is(err, driver.ErrFence)
}

// Explain returns the reason why a request failed, without addresses, users or keys. It calls the
// store.
func (h *Health) Explain(err error) string {
	if h.explainer != nil {
		if text := h.explainer.Explain(err); text != "" {
			return text
		}
	}
	switch {
	case errors.Is(err, driver.ErrUnreadable):
		return "the data of the job in the store cannot be read"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return "no answer in time"
	}
	return "the request failed; the log has the error"
}

// MostListed is the most faults or jobs that a line names.
const MostListed = 5

// Jobs returns a count of jobs with its verb: "1 job has", "2 jobs have".
func Jobs(n int, has, have string) string {
	if n == 1 {
		return "1 job " + has
	}
	return fmt.Sprintf("%d jobs %s", n, have)
}

// List joins the first MostListed names and counts the others; all is the total number.
func List(names []string, all int) string {
	text := strings.Join(names[:min(len(names), MostListed)], "; ")
	if more := all - MostListed; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}
