// Package zookeeper tests that clients of lock/zklock get only replies that one correct store could
// send, while connections are cut and while servers of an ensemble are killed and stopped. It has only
// tests.
package zookeeper
