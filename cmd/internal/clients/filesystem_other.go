//go:build !linux

package clients

// networkFilesystem returns "", because this system has no common way to find out.
func networkFilesystem(string) string { return "" }
