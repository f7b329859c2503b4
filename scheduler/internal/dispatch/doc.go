// Package dispatch sends requests when they are due: claims of ticks, and peeks at ticks for which
// other nodes are first.
//
// A [Dispatcher] owns the timetable and the pending claims of a node, and their lock. It waits for
// the next instant (loop.go), takes the requests that are due, sends them (send.go), and applies
// the decisions of package claims about the answers (answer.go). Nothing on the path from the timer
// to the request waits for the store or for the logger. Granted ticks go to package runs.
package dispatch
