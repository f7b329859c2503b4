//go:build !linux

package childprocess

// Init returns false: only on Linux do containers have a process 1.
func Init() (code int, ran bool) { return 0, false }
