package config

import (
	"time"

	"github.com/cronce/cronce/cmd/internal/strictyaml"
	"github.com/cronce/cronce/lock/driver"
)

// Upper bounds of a configuration. A larger value is a typing error: a wrong unit or an additional
// digit.
const (
	maxPoolSize     = 10_000
	maxSpread       = time.Minute
	maxStoreTimeout = 5 * time.Minute
	maxGrace        = 24 * time.Hour
)

// sizeFaults checks the numbers in the section redis.
func (c *Config) sizeFaults(bad func(path, format string, args ...any)) {
	r := &c.Redis
	if r.PoolSize < 0 || r.PoolSize > maxPoolSize {
		bad("redis.pool_size", "is %d, must be 0 to %d", r.PoolSize, maxPoolSize)
	}
	if r.Partitions < 0 || r.Partitions > 1024 {
		bad("redis.partitions", "is %d, must be 1 to 1024", r.Partitions)
	}
	if len(r.GroupBy) > 16 || r.GroupBy != "" && driver.CheckKey(r.GroupBy) != nil {
		bad("redis.group_by", "is %s, must be up to 16 bytes of printable UTF-8", strictyaml.Quote(r.GroupBy))
	}
	if r.JournalLines < 0 {
		bad("redis.journal_lines", "is %d, must be 0 or more", r.JournalLines)
	}
	if r.JournalBytes < 0 {
		bad("redis.journal_bytes", "is %d, must be 0 or more", r.JournalBytes)
	}
}

// tuningFaults checks upper bounds. The scheduler refuses negative values itself and has no upper
// bounds.
func (c *Config) tuningFaults(bad func(path, format string, args ...any)) {
	t := &c.Scheduler
	if t.Concurrency < -1 {
		bad("scheduler.concurrency", "is %d, must be 1 or more, 0 for the default, -1 for no bound", t.Concurrency)
	}
	for _, d := range []struct {
		key      string
		value    Duration
		most     time.Duration
		forShown string
	}{
		{"grace", t.Grace, maxGrace, "24h"}, {"cancel_grace", t.CancelGrace, maxGrace, "24h"},
		{"spread", t.Spread, maxSpread, "1m"}, {"store_timeout", t.StoreTimeout, maxStoreTimeout, "5m"},
	} {
		if time.Duration(d.value) > d.most {
			bad("scheduler."+d.key, "is %v, must be up to %s", time.Duration(d.value), d.forShown)
		}
	}
}
