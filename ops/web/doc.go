// Package web serves a projection over HTTP: an API, pages that need no JavaScript, and a stream of
// changes. Operators pause and resume jobs, and cancel runs, through it. It denies by default: every route but health, login and assets requires a caller with a
// role.
package web
