// Package failover tests which leases and claims survive when their Redis is replaced by one of its
// replicas: by hand, by Sentinel, and in a Cluster, with real servers. It has only tests.
package failover
