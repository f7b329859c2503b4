package revoked

import (
	"encoding/json"
	"strings"

	"github.com/cronce/cronce/lock/driver"
)

// MaxText bounds, in bytes, the text of a book: Encode writes no longer one.
const MaxText = 512 << 10

// shown is how many bytes are shown of a text that is no book.
const shown = 200

type kept struct {
	Records []keptRecord `json:"records,omitempty"`
	Leases  []keptLease  `json:"leases,omitempty"`
}

type keptRecord struct {
	ID         string      `json:"id"`
	By         string      `json:"by"`
	Reason     string      `json:"reason"`
	At         int64       `json:"at"` // ms
	Holders    int         `json:"holders"`
	Owners     []keptOwner `json:"owners"`
	Unreadable string      `json:"unreadable,omitempty"`
}

type keptOwner struct {
	Owner string `json:"owner"`
	Fence int64  `json:"fence"`
}

type keptLease struct {
	Owner string `json:"owner"`
	Fence int64  `json:"fence"`
	Until int64  `json:"until"`
}

// Encode returns the book in its stored form.
func (b *Book) Encode() (string, error) {
	var k kept
	for _, made := range b.records {
		r := keptRecord{ID: made.ID, By: made.By, Reason: made.Reason, At: made.At, Holders: made.Holders, Unreadable: made.Unreadable}
		for _, o := range made.Owners {
			r.Owners = append(r.Owners, keptOwner{o.Owner, o.Fence})
		}
		k.Records = append(k.Records, r)
	}
	for _, l := range b.leases {
		k.Leases = append(k.Leases, keptLease{l.owner, l.fence, l.until})
	}
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false) // else a text could grow to six times its size
	err := e.Encode(k)
	return strings.TrimSuffix(text.String(), "\n"), err
}

// Decode reads a book; an empty text is an empty book. Text that is no record is kept as an
// unreadable record: it must not prevent a forced unlock.
func Decode(text string) *Book {
	var k kept
	b := new(Book)
	if text == "" {
		return b
	}
	if len(text) > MaxText || json.Unmarshal([]byte(text), &k) != nil {
		b.records = []driver.ForceRecord{{Unreadable: text[:min(len(text), shown)]}}
		return b
	}
	for _, r := range k.Records[max(0, len(k.Records)-driver.MaxForceRecords):] {
		b.records = append(b.records, r.read())
	}
	for _, l := range k.Leases[max(0, len(k.Leases)-MaxLeases):] {
		b.leases = append(b.leases, lease{l.Owner, l.Fence, l.Until})
	}
	return b
}

// read checks a stored record.
func (r *keptRecord) read() driver.ForceRecord {
	made := driver.ForceRecord{ID: r.ID, By: r.By, Reason: r.Reason, At: r.At, Holders: r.Holders}
	asked := driver.ForceRequest{Key: "k", ID: r.ID, By: r.By, Reason: r.Reason}
	good := driver.CheckForce(&asked) == nil && r.At >= 0 && len(r.Owners) > 0 &&
		len(r.Owners) <= driver.MaxForcedOwners && r.Holders >= len(r.Owners)
	for _, o := range r.Owners {
		good = good && driver.CheckName("owner", o.Owner) == nil && o.Fence > 0
		made.Owners = append(made.Owners, driver.ForcedOwner{Owner: o.Owner, Fence: o.Fence})
	}
	if good && r.Unreadable == "" {
		return made
	}
	text := r.Unreadable
	if text == "" {
		text = r.ID + " " + r.By + " " + r.Reason
	}
	return driver.ForceRecord{Unreadable: text[:min(len(text), shown)]}
}
