package job

import "slices"

// ByPartition splits elements for the store into parts of one partition each.
func ByPartition[T any](partitions int, all []T, partition func(T) int) (parts [][]T) {
	if len(all) == 0 {
		return nil
	}
	if partitions <= 1 {
		return [][]T{all}
	}
	parts = make([][]T, partitions)
	for _, one := range all {
		s := partition(one)
		parts[s] = append(parts[s], one)
	}
	return slices.DeleteFunc(parts, func(p []T) bool { return len(p) == 0 })
}
