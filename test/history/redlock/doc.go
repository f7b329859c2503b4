// Package redlock tests that clients of lock/redlock get only replies that one correct store could
// send, with two exceptions, while servers are stopped and replies are lost. It has only tests.
package redlock
