//go:build !linux

package serverprocess

// A Disk is a small file system of its own that holds the folder of one server. This system has none.
type Disk struct{}

// MoveToDisk returns nil: this system does not let a test mount a small disk.
func (s *Server) MoveToDisk() *Disk { return nil }

// Fill does nothing.
func (*Disk) Fill() {}

// Free does nothing.
func (*Disk) Free() {}
