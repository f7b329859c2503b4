// Command mutants plants mistakes in the project, one at a time, and prints the
// mistakes that the tests do not notice.
//
// A mistake is a patch in the folder list. Before the patch come a title, the
// packages whose tests must fail and, if not all tests are needed, the tests to
// run:
//
//	The trust of a renewed lease counts from the reply.
//	tests: ./lock
//	run: TestRenew
//
// The packages may be of any module of the project: their paths begin at its root.
//
// A mistake that changes nothing that can be observed has a line "equivalent:" with
// the reason. It is planted too, and must survive: otherwise the reason is wrong.
//
// Nothing is written to the tree: the go command reads the changed files through
// its -overlay flag.
package main
