// Package databases tests that clients of lock/sqllock see what one correct store could answer, on
// each database, while replies are lost. It has nothing but tests.
package databases
