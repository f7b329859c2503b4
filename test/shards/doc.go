// Package shards proves on a real Redis, with nodes in processes that are killed and stopped, that each
// shard of each tick runs on one node at a time and has one verdict. Its tests need redis-server.
package shards
