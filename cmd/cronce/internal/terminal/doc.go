// Package terminal writes to people and to machines: colours, text that is safe to print, lines
// of the log, and JSON.
package terminal
