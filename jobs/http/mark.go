package http

import (
	"time"

	"github.com/cronce/cronce/scheduler"
)

// final wraps an error after which there is no other try.
func final(err error) error { return scheduler.Permanent(err) }

// later wraps an error after which the next try begins d later.
func later(d time.Duration, err error) error { return scheduler.RetryAfter(d, err) }
