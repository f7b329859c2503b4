// Package terminal formats output for people and for programs: colours, text that is safe to print,
// lines of the log, and JSON.
package terminal
