// Package exec runs commands as jobs. A [Runner] makes functions for scheduler.Job out of
// [Command]s, and leaves no process behind: when a run is over, none of its processes is alive, and
// none outlives the lease of its run.
//
// On Linux the commands are children of a warden: a second process of the same program, whose only
// work is to start commands, to kill them in time and to wait for them. It has the kill times of
// all runs. A node that is killed, stopped or suspended needs not act for its commands to end: the
// warden sees the end of the node at once, and the end of a lease by its own clock, which counts
// the time that a machine is suspended. It is the reaper of all that the commands start
// (PR_SET_CHILD_SUBREAPER, prctl(2)), so a process that leaves its session or group is found all
// the same.
//
// On other systems the node starts commands itself. Their groups end with their runs; a node that
// is killed leaves its commands alive.
package exec
