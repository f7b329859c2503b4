package series

// Partitioned is a Numbered driver whose series are spread over several partitions, each of them able to be
// silent while the others answer. A request about series of several partitions waits for the slowest
// partition, so a scheduler sends one request to each.
type Partitioned interface {
	// Partitions returns the number of partitions, at least 1.
	Partitions() int
	// Partition returns the partition of a series, from 0.
	Partition(key string) int
}

// Sharder is a Numbered driver that divides numbers into shards: it accepts a claim with a [Sharding], and
// renewals and ends of shards. Each other driver refuses them with ErrUnsupported.
type Sharder interface {
	// MostShards returns how many shards a number may have, 1 to MaxShards.
	MostShards() int
}

// Local is a Driver whose store is in the process of its callers and uses their clock, so that no
// node can end unseen and no clock steps. A scheduler sends it no request while nothing can happen.
type Local interface {
	// Local reports whether the store is in the process of its callers.
	Local() bool
}
