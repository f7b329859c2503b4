// Package config reads config.yaml, the environment and flags: types with their keys, defaults,
// precedence, validation, secrets, and the settings for building clients. It builds no client and
// parses no command line; cmd/cronce does.
package config
