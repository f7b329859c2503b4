// Package chronos asks of cronce what the test of Jepsen asked of Chronos, another distributed scheduler: do all
// targets of all jobs begin in time, once each, while the network between five hosts is cut and healed at random?
// Chronos lost its schedules for good after one cut.
//
// The hosts are network namespaces of this machine, which need Linux and root. Each has a real node, and a network cut
// does not reach the files in which its jobs write when they begin and end. The package has only tests.
package chronos
