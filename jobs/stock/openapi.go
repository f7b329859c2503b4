package stock

import (
	_ "embed" // the document
	"net/http"
)

// openAPI is the description of what a Handler serves, for machines. A test makes it from the
// routes, and compares.
//
//go:embed openapi.json
var openAPI []byte

// describe serves the description, without a token: it says nothing of a sale.
func describe(_ *Sale, _ *http.Request) (reply, error) { return reply{raw: openAPI}, nil }
