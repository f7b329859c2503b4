package redlock

import (
	"embed"

	"github.com/redis/go-redis/v9"
)

//go:embed lua
var sources embed.FS

// The operations. Parameters only ever go through KEYS and ARGV.
var (
	acquireScript = load("acquire")
	putScript     = load("put")
	renewScript   = load("renew")
	releaseScript = load("release")
)

func load(name string) *redis.Script { return redis.NewScript(source("state") + source(name)) }

func source(name string) string {
	src, err := sources.ReadFile("lua/" + name + ".lua")
	if err != nil {
		panic(err) // a file that was built in is missing
	}
	return string(src)
}
