package stock

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
)

// MaxPage is how many products or orders a page has at most.
const MaxPage = 500

// cursorOf is the cursor behind a name, in a list that a query makes.
func cursorOf(query, after string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(query + "\n" + after))
}

// parseCursor returns the name that a cursor of the query is behind; that of the first page
// is empty.
func parseCursor(query, cursor string) (after string, err error) {
	if cursor == "" {
		return "", nil
	}
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	of, after, found := strings.Cut(string(text), "\n")
	if err != nil || !found || of != query || !isName(after) {
		return "", &FieldError{"cursor", quote(cursor), "what the page before said, of the same list"}
	}
	return after, nil
}

func checkLimit(limit int) error {
	if limit < 1 || limit > MaxPage {
		return &FieldError{"limit", strconv.Itoa(limit), fmt.Sprintf("1 to %d", MaxPage)}
	}
	return nil
}
