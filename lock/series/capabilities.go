package series

// Sharded is a Numbered driver whose series are spread over several shards, each of them able to be
// silent while the others answer. A request about series of several shards waits for the slowest
// shard, so a scheduler sends one request to each.
type Sharded interface {
	// Shards returns the number of shards, at least 1.
	Shards() int
	// Shard returns the shard of a series, from 0.
	Shard(key string) int
}

// Local is a Driver whose store is in the process of its callers and uses their clock, so that no
// node can end unseen and no clock steps. A scheduler sends it no request while nothing can happen.
type Local interface {
	// Local reports whether the store is in the process of its callers.
	Local() bool
}
