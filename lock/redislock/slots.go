package redislock

import "strconv"

// The masters of a Cluster usually have equal ranges of its hash slots. If the tags of partitions were bare numbers, their slots would
// lie in groups: one of three masters would have 4 of 8 partitions, and could have 2 of 3. So the places of all partitions divide the slots evenly,
// and a tag ends with the first number that brings its slot near its place. Partition 0 has no such number: it has the layout, which a
// process reads whatever the number of partitions is.
const (
	slots    = 16384
	nearSlot = 64      // slots from the place of a partition on
	tagsMost = 1 << 16 // numbers to try; one of 256 is near enough
)

// tagOf returns the hash tag of one of the partitions of a namespace.
func tagOf(namespace string, partition, partitions int) string {
	first := namespace + ".0"
	if partition == 0 {
		return first
	}
	place := int(slotOf(first)) + partition*slots/partitions
	plain := namespace + "." + strconv.Itoa(partition)
	for n := range tagsMost {
		tag := plain
		if n > 0 {
			tag += "-" + strconv.Itoa(n)
		}
		if (int(slotOf(tag))-place+2*slots)%slots < nearSlot {
			return tag
		}
	}
	return plain
}

// slotOf returns the hash slot of a tag: CRC-16/XMODEM (https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec).
func slotOf(tag string) uint16 {
	var crc uint16
	for i := range len(tag) {
		crc ^= uint16(tag[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return crc % slots
}
