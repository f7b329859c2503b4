// Package web serves a projection over HTTP: an API, pages that need no JavaScript, and a stream of changes. It is
// closed by default: each route but health, login and assets wants a caller with a role.
package web
