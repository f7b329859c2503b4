// Package config is what config.yaml, the environment and flags say: types with their keys,
// defaults, what wins over what, validation, secrets, and the settings that clients are built
// with. It builds no client and reads no flag by itself: cmd/cronce does.
package config
