// Package ops reads the state of a namespace and answers questions about it: its jobs, the results
// of their ticks, overdue ticks with their causes, and the live nodes.
//
// A [Projection] keeps the answers in memory. Pages, API, metrics and commands read it, so ten
// readers load the store no more than one. It needs no node: it answers even if all of them are
// dead. While the store does not answer, the state of every job is not known: never overdue, and
// never fine.
//
// A [Controller] makes the changes of operators, for commands, pages and API alike.
//
// Only [Judge] decides whether a tick is overdue. The commands verify and overdue use it too.
package ops
