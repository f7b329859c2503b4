// Package childprocess has the attributes of processes that a command starts and that must not
// outlive it.
package childprocess
