package redislock

import _ "embed" // the script

//go:embed lua/guard.lua
var guardLua string

// GuardLua is the beginning of a Lua script that writes what a lock protects. It
// defines
//
//	admit(key, fence)
//
// which is true, and remembers the fence, unless the key has seen a higher one.
// The key is one of the script's KEYS, next to what is written, in the same slot.
// A script that gets false writes nothing: the lease of its caller is over.
func GuardLua() string { return guardLua }
