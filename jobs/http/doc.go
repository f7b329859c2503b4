// Package http sends requests as jobs. [New] makes the function of a scheduler.Job from a
// [Request].
//
// A request is sent once for each try of a run, and never repeated by the client: redirects are not
// followed, and each request has a connection of its own. If a server closed a reused connection
// just when a request was sent, it would not be known whether the server had read the request.
//
// # Outcomes
//
// An expected status is success. The following failures may be tried again, as often as
// scheduler.Job.Retry allows: no connection, and the statuses 408, 425, 429, 500, 502, 503 and 504,
// after the time in Retry-After if the response has one. If that is longer than
// Request.MaxRetryAfter, the failure is final, so that no server can block a job for longer. All
// other statuses are final.
//
// A request that was sent and has no complete response is doubt: the server may have done the work
// or not. Then only an idempotent request is tried again: GET, HEAD, PUT, DELETE, OPTIONS, or one
// with Request.Idempotent. The failure of any other request is final, and wraps [ErrUnknown].
//
// # Headers
//
// The server gets these headers:
//
//	Idempotency-Key: <id of the run, the same for each try and attempt>
//	Cronce-Job: <name of the job>
//	Cronce-Tick: <Run.Tick: the scheduled instant, RFC 3339 with milliseconds, UTC>
//	Cronce-Attempt: <1, or more after a takeover>
//	Cronce-Fence: <fence of the run>
//
// A node that loses its lease closes the connection. The server may continue its work while another
// node runs the tick with a higher fence. A server that compares the fence with the highest one
// that it has seen refuses the earlier request: see package lock/guard.
//
// # Addresses
//
// A request goes only to public addresses, unless Request.AllowPrivate is set. The address is
// checked when the connection is made, after the name was resolved, so a name that later resolves
// to another address does not bypass the check.
package http
