// Package access says which caller of the plane may do what: bearer tokens of a file, sessions of a browser that a
// token has begun, and roles. Without a token nothing is answered.
package access
