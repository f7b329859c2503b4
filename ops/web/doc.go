// Package web serves a projection over HTTP: an API, pages that need no JavaScript, and a stream of
// changes. It denies by default: every route but health, login and assets requires a caller with a
// role.
package web
