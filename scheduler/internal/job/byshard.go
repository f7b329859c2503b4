package job

import "slices"

// ByShard splits elements for the store into parts of one shard each.
func ByShard[T any](shards int, all []T, shard func(T) int) (parts [][]T) {
	if len(all) == 0 {
		return nil
	}
	if shards <= 1 {
		return [][]T{all}
	}
	parts = make([][]T, shards)
	for _, one := range all {
		s := shard(one)
		parts[s] = append(parts[s], one)
	}
	return slices.DeleteFunc(parts, func(p []T) bool { return len(p) == 0 })
}
