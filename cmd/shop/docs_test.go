package main

import (
	"testing"

	"github.com/cronce/cronce/cmd/internal/shown"
)

// Every command that the documents show exists, and takes the flags that it is shown with; and each has an example.
func TestDocumentedCommands(t *testing.T) {
	t.Parallel()
	program := shown.Program{New: rootCommand}
	count, faults := program.Pages("*.md", "../../docs/*.md")
	for _, err := range append(faults, program.Examples()...) {
		t.Error(err)
	}
	if count < 11 {
		t.Errorf("found %d commands: the documents show more", count)
	}
}
