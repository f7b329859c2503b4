// Package config reads config.yaml, the environment and flags: types with their keys, defaults,
// precedence, validation, secrets, and the settings that clients are built with. It builds no
// client and parses no command line; cmd/cronce does.
package config
