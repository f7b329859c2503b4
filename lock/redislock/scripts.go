package redislock

import (
	"embed"
	"strings"

	"github.com/redis/go-redis/v9"
)

//go:embed lua
var sources embed.FS

// scripts are the operations. Parameters only ever go through KEYS and ARGV.
type scripts struct {
	touch                                 *redis.Script
	acquire, renew, release               *redis.Script
	manyAsk, manyFree                     *redis.Script
	wait, inspect                         *redis.Script
	sharedAsk, sharedFree, sharedRenew    *redis.Script
	force, forcings, why, adopt           *redis.Script
	open, claim, renewRuns, releaseRuns   *redis.Script
	look, pause, resume, recount, beating *redis.Script
	leaving, members                      *redis.Script
	peek, now, agree                      *redis.Script
}

var embedded = load(func(name string) string {
	src, err := sources.ReadFile("lua/" + name + ".lua")
	if err != nil {
		panic(err) // a file that was built in is missing
	}
	return string(src)
})

// load makes the scripts from their parts.
func load(source func(name string) string) *scripts {
	join := func(names ...string) *redis.Script {
		var b strings.Builder
		for _, name := range names {
			b.WriteString(source(name))
		}
		return redis.NewScript(b.String())
	}
	return &scripts{
		touch:       join("touch"),
		acquire:     join("short_ask", "remember", "queue", "ask", "acquire"),
		manyAsk:     join("many_ask"),
		renew:       join("renew"),
		release:     join("short_free", "remember", "queue", "release"),
		manyFree:    join("remember", "many_free"),
		wait:        join("short_ask", "remember", "queue", "ask", "wait"),
		sharedAsk:   join("remember", "shared", "shared_ask"),
		sharedFree:  join("remember", "shared", "shared_free"),
		sharedRenew: join("remember", "shared", "shared_renew"),
		force:       join("remember", "shared", "take", "force"),
		forcings:    join("forcings"),
		adopt:       join("remember", "shared", "take", "adopt"),
		why:         join("why"),
		inspect:     join("inspect"),
		open:        join("state", "journal", "open"),
		claim:       join("state", "journal", "answer", "claim"),
		peek:        join("state", "answer", "peek"),
		renewRuns:   join("state", "renew_runs"),
		releaseRuns: join("state", "journal", "release_runs"),
		look:        join("state", "look"),
		pause:       join("state", "pause"),
		resume:      join("state", "journal", "resume"),
		recount:     join("recount"),
		beating:     join("process", "nodes", "beat"),
		leaving:     join("nodes", "leave"),
		members:     join("process", "nodes", "members"),
		now:         join("process", "now"),
		agree:       join("agree"),
	}
}
