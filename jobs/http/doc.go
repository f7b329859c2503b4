// Package http sends requests as jobs. [New] makes the function of a scheduler.Job out of a
// [Request].
//
// A request is sent once for each try of a run, and never repeated by the client: redirects are not
// followed, and each request has a connection of its own. A server that closes a connection in the
// moment in which the connection is used again would leave it open whether it has read the request.
//
// # Outcomes
//
// An expected status is success. These failures may be tried again, as often as scheduler.Job.Retry
// says: no connection, and the statuses 408, 425, 429, 500, 502, 503 and 504, after the time in
// Retry-After if the answer has one. All other statuses are final.
//
// A request that was sent and has no complete answer is doubt: the server may have done the work or
// not. Only an idempotent request is tried again then: GET, HEAD, PUT, DELETE, OPTIONS, or one with
// Request.Idempotent. The failure of any other is final, and wraps [ErrUnknown].
//
// # What the server gets
//
//	Idempotency-Key: <id of the run>, the same for each try and attempt
//	Cronce-Job: <name of the job>
//	Cronce-Tick: <scheduled instant, RFC 3339 with milliseconds, UTC>
//	Cronce-Attempt: <1, or more after a takeover>
//	Cronce-Fence: <fence of the run>
//
// A node that loses its lease closes the connection. The server may go on with its work, while
// another node runs the tick with a higher fence. A server that compares the fence with the highest
// one that it has seen refuses the earlier request: see package lock/guard.
//
// # Addresses
//
// A request goes to public addresses only, unless Request.AllowPrivate is set. The address is
// checked when the connection is made, after the name was looked up, so a name that changes its
// address gets no further.
package http
