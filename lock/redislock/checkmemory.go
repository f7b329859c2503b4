package redislock

import (
	"fmt"
	"strconv"

	"github.com/cronce/cronce/lock/driver"
)

// nearlyFull is the percentage of maxmemory from which on a server is warned of.
const nearlyFull = 90

// memory returns the finding how full a server is that refuses writes at maxmemory. There is none
// for a server that evicts keys instead, has no bound, or does not report its memory.
func (i *info) memory() []driver.Finding {
	used, most := i.number("used_memory")-i.number("mem_not_counted_for_evict"), i.number("maxmemory")
	if i.fields["maxmemory_policy"] != "noeviction" || used <= 0 || most <= 0 {
		return nil
	}
	const fix = "raise maxmemory, or remove data of other applications from the server"
	text := fmt.Sprintf("%d of maxmemory %d bytes are used", used, most)
	switch {
	case used >= most && i.options.RefuseFull:
		return []driver.Finding{i.finding(driver.LevelRefuse, driver.TopicMemory, text+": the server takes no writes", fix)}
	case used >= most:
		return []driver.Finding{i.finding(driver.LevelWarn, driver.TopicMemory, text+": the server takes no writes", fix)}
	case float64(used) > float64(most)*nearlyFull/100:
		return []driver.Finding{i.finding(driver.LevelWarn, driver.TopicMemory, text+": at maxmemory the server takes no writes", fix)}
	}
	return []driver.Finding{i.finding(driver.LevelOK, driver.TopicMemory, text, "")}
}

// number returns a number that the server reports; 0: it does not.
func (i *info) number(name string) int64 {
	n, _ := strconv.ParseInt(i.fields[name], 10, 64)
	return n
}
