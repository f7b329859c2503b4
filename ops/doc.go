// Package ops reads what a namespace does and answers questions about it: which jobs there are, what became of
// their ticks, what is overdue and why, and which nodes live.
//
// A [Projection] keeps the answers in memory. Pages, API, metrics and commands read it, so ten readers cost the
// store what one costs. It needs no node: it answers when all of them are dead. While the store does not answer,
// the state of every job is not known: never overdue, and never fine.
//
// [Judge] is the one function by which anything is called overdue. The commands verify and overdue use it too.
package ops
