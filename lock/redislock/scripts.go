package redislock

import (
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"regexp"
)

//go:embed lua
var sources embed.FS

// A script runs on the server. Parameters only ever go through KEYS and ARGV.
type script struct {
	source string
	hash   string // by which a server knows it
	joins  bool   // one run serves many calls: see [batch]
}

// scripts are the operations, each named as its file.
type scripts struct {
	acquire, wait, renew, release                   *script
	sharedAcquire, sharedRenew, sharedRelease       *script
	force, forcings, adopt, why, inspect            *script
	open, claim, peek, readSeries, control, recount *script
	renewRuns, releaseRuns                          *script
	beat, members, now, agree, touch                *script
}

var embedded = load(func(name string) string {
	src, err := sources.ReadFile("lua/" + name + ".lua")
	if err != nil {
		panic(err) // a file that was built in is missing
	}
	return string(src)
})

// load makes the scripts from their files.
func load(source func(name string) string) *scripts {
	read := func(name string) *script {
		text := include(source, name)
		sum := sha1.Sum([]byte(text))
		return &script{source: text, hash: hex.EncodeToString(sum[:])}
	}
	joining := func(name string) *script {
		s := read(name)
		s.joins = true
		return s
	}
	return &scripts{
		acquire:       joining("acquire"),
		wait:          read("wait"),
		renew:         read("renew"),
		release:       joining("release"),
		sharedAcquire: read("shared_acquire"),
		sharedRenew:   read("shared_renew"),
		sharedRelease: read("shared_release"),
		force:         read("force"),
		forcings:      read("forcings"),
		adopt:         read("adopt"),
		why:           read("why"),
		inspect:       read("inspect"),
		open:          read("open"),
		claim:         read("claim"),
		peek:          read("peek"),
		readSeries:    read("read_series"),
		control:       read("control"),
		recount:       read("recount"),
		renewRuns:     read("renew_runs"),
		releaseRuns:   read("release_runs"),
		beat:          read("beat"),
		members:       read("members"),
		now:           read("now"),
		agree:         read("agree"),
		touch:         read("touch"),
	}
}

var included = regexp.MustCompile(`(?m)^-- include: (\w+)\.lua$`)

// include returns the text of a file, with other files in the place of the lines that
// name them.
func include(source func(name string) string, name string) string {
	return included.ReplaceAllStringFunc(source(name), func(line string) string {
		return include(source, included.FindStringSubmatch(line)[1])
	})
}
