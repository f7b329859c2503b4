// Package redlock tests that clients of lock/redlock see what one correct store could answer, with
// two exceptions, while servers are stopped and replies are lost. It has nothing but tests.
package redlock
