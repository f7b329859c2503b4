// Package databases tests that clients of lock/sqllock get only replies that one correct store could
// send, on each database, while replies are lost. It has only tests.
package databases
