// Package zookeeper tests that clients of lock/zklock see what one correct store could answer, while
// connections are cut, and while servers of an ensemble are killed and stopped. It has nothing but
// tests.
package zookeeper
