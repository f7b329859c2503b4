package guard

import _ "embed" // the script

//go:embed guard.lua
var lua string

// Lua returns the beginning of a Redis script that writes what a lock protects. It defines
//
//	admit(key, fence)
//
// which returns true and remembers the fence, unless the key has seen a higher one. The
// key is one of the script's KEYS, next to what is written, in the same slot. A script
// that gets false writes nothing: the lease of its caller is over.
func Lua() string { return lua }
