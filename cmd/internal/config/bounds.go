package config

import (
	"github.com/cronce/cronce/cmd/internal/strictyaml"
	"github.com/cronce/cronce/lock/driver"
)

// A larger pool is a typing error: an additional digit.
const maxPoolSize = 10_000

// sizeFaults checks the numbers in the section redis, and the concurrency: the scheduler takes any
// negative one as no bound.
func (c *Config) sizeFaults(bad func(path, format string, args ...any)) {
	r := &c.Redis
	if r.PoolSize < 0 || r.PoolSize > maxPoolSize {
		bad("redis.pool_size", "is %d, must be 1 to %d, or 0 for the default", r.PoolSize, maxPoolSize)
	}
	if r.Partitions < 0 || r.Partitions > 1024 {
		bad("redis.partitions", "is %d, must be 1 to 1024, or 0 for the default", r.Partitions)
	}
	if len(r.GroupBy) > 16 || r.GroupBy != "" && driver.CheckKey(r.GroupBy) != nil {
		bad("redis.group_by", "is %s, must be up to 16 bytes of printable UTF-8", strictyaml.Quote(r.GroupBy))
	}
	if r.JournalLines < 0 {
		bad("redis.journal_lines", "is %d, must be 1 or more, or 0 for the default", r.JournalLines)
	}
	if r.JournalBytes < 0 {
		bad("redis.journal_bytes", "is %d, must be 1 or more, or 0 for the default", r.JournalBytes)
	}
	if n := c.Scheduler.Concurrency; n < -1 {
		bad("scheduler.concurrency", "is %d, must be 1 or more, 0 for the default, -1 for no bound", n)
	}
}
