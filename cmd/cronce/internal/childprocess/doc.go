// Package childprocess has the attributes of processes that a command starts and that should not
// outlive it.
package childprocess
