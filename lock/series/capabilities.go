package series

// Sharded is a Numbered driver whose series live in several shards, each of which can
// be silent while the others answer. A caller that asks about series of several shards
// in one request waits for the slowest of them: a scheduler sends one for each.
type Sharded interface {
	// Shards returns how many there are, at least 1.
	Shards() int
	// Shard returns the one that a series lives in, from 0.
	Shard(key string) int
}

// Local is a Driver whose store lives in the process of its callers and has their clock, so that
// no node can end unseen and no clock steps. A scheduler sends it nothing while nothing can
// happen.
type Local interface {
	// Local reports whether it does.
	Local() bool
}
