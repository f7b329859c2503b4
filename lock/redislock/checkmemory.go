package redislock

import (
	"fmt"
	"strconv"
)

// nearlyFull is the percentage of maxmemory from which on a server is warned of.
const nearlyFull = 90

// memory returns the finding how full a server is that refuses writes at maxmemory. There is none
// for a server that evicts keys instead, has no bound, or does not report its memory.
func (i *info) memory() []Finding {
	used, most := i.number("used_memory")-i.number("mem_not_counted_for_evict"), i.number("maxmemory")
	if i.fields["maxmemory_policy"] != "noeviction" || used <= 0 || most <= 0 {
		return nil
	}
	const fix = "raise maxmemory, or remove data of other applications from the server"
	text := fmt.Sprintf("%d of maxmemory %d bytes are used", used, most)
	switch {
	case used >= most && i.options.RefuseFull:
		return []Finding{i.finding(LevelRefuse, TopicMemory, text+": the server takes no writes", fix)}
	case used >= most:
		return []Finding{i.finding(LevelWarn, TopicMemory, text+": the server takes no writes", fix)}
	case float64(used) > float64(most)*nearlyFull/100:
		return []Finding{i.finding(LevelWarn, TopicMemory, text+": at maxmemory the server takes no writes", fix)}
	}
	return []Finding{i.finding(LevelOK, TopicMemory, text, "")}
}

// number returns a number that the server reports; 0: it does not.
func (i *info) number(name string) int64 {
	n, _ := strconv.ParseInt(i.fields[name], 10, 64)
	return n
}
