// Package failover tests the fate of leases and of claims when their Redis
// is replaced by one of its replicas: by hand, by Sentinel, and in a Cluster, with
// real servers. It has nothing but tests.
package failover
