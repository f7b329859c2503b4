// Package browser shows the pages of a running cluster in a real browser.
package browser
