// Package childprocess has the attributes of processes that a command starts and that must not
// outlive it, and the work of process 1 of a container.
package childprocess
