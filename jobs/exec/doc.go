// Package exec runs commands as jobs. A [Runner] makes functions for scheduler.Job from [Command]s.
// It leaves no process behind: when a run is over, none of its processes is alive, and none
// outlives the lease of its run.
//
// On Linux the commands are children of a warden, a second process of the same program. The warden
// only starts commands, kills them in time and waits for them. It has the kill times of all runs,
// so commands end in time even if the node is killed, stopped or suspended: the warden notices the
// end of the node at once, and the end of a lease by its own clock, which includes the time that a
// machine is suspended. All processes that the commands start become its children when their
// parents die (PR_SET_CHILD_SUBREAPER, prctl(2)), so a process that leaves its session or group is
// still found.
//
// On other systems the node starts commands itself. Their process groups end with their runs, but a
// node that is killed leaves its commands alive.
package exec
