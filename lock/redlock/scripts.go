package redlock

import (
	"embed"
	"strings"

	"github.com/redis/go-redis/v9"
)

//go:embed lua
var sources embed.FS

// The operations. Parameters only ever go through KEYS and ARGV.
var (
	acquireScript = load("vote", "asked", "state", "acquire")
	putScript     = load("asked", "state", "put")
	renewScript   = load("asked", "state", "renew")
	releaseScript = load("back", "state", "release")
)

func load(names ...string) *redis.Script {
	var whole strings.Builder
	for _, name := range names {
		src, err := sources.ReadFile("lua/" + name + ".lua")
		if err != nil {
			panic(err) // a file that was built in is missing
		}
		whole.Write(src)
	}
	return redis.NewScript(whole.String())
}
