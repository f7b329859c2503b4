// Package access decides the rights of the callers of the plane, by bearer tokens from a file,
// browser sessions that began with a token, and roles. Without a token every request is refused.
package access
