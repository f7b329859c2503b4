// Package chronos repeats with cronce the test that Jepsen made for Chronos, another distributed scheduler: targets of all
// jobs begin in time, once each, while the network between five hosts is cut and healed at random. Chronos lost
// its schedules for good after one cut.
//
// The hosts are network namespaces of this machine, which need Linux and root. Each has a real node. Its jobs write into
// files when they begin and end, and a cut does not reach these files. The package has only tests.
package chronos
