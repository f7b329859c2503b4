package guard

import _ "embed" // the script

//go:embed guard.lua
var lua string

// Lua returns the beginning of a Redis script that writes data that a lock protects. It defines
//
//	admit(key, fence)
//
// which returns true and remembers the fence, unless the key has seen a higher one. The key is one
// of the script's KEYS, beside the data, in the same slot. If admit returns false, the script must
// write nothing: the lease of its caller is over.
func Lua() string { return lua }
