// Package dispatch sends what is due: claims of ticks, and peeks at ticks that come first to
// other nodes.
//
// A [Dispatcher] owns the timetable and the pending claims of a node, and their lock. It
// waits for the next instant (loop.go), takes what is due then, sends it (send.go), and
// applies what package claims decides of the answers (answer.go). Nothing from the timer to
// the request waits for the store or for the logger. Granted ticks go to package runs.
package dispatch
