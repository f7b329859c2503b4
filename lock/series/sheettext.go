package series

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cronce/cronce/lock/driver"
)

// clone returns a copy that shares no memory with s.
func (s *Sheet) clone() Sheet {
	return Sheet{slices.Clone(s.Shards), slices.Clone(s.Params), s.FailAll, s.Broadcast}
}

// errorBytes escapes the errors in the text of a sheet, and with them all that separates its parts.
var errorBytes = driver.NewEscaping("._~:/-")

// text returns the settled shards for a journal: the nodes, and for each shard its outcome, attempt, the index of its node, and how far its
// fence lies after the one of the opening, its first grant after the opening, its end after that, and its error if it has one. A shard that was never granted has its
// outcome alone, and in a broadcast the index of its node.
func (s *Sheet) text(fence, granted int64) string {
	var nodes []string
	var shards strings.Builder
	index := func(node string) int {
		if slices.Index(nodes, node) < 0 {
			nodes = append(nodes, node)
		}
		return slices.Index(nodes, node)
	}
	for i := range s.Shards {
		h := &s.Shards[i]
		if i > 0 {
			shards.WriteByte(';')
		}
		shards.WriteString(h.Outcome)
		if h.OK {
			shards.WriteByte('+')
		}
		switch {
		case h.Fence != 0:
			fmt.Fprintf(&shards, ",%d,%d,%d,%d,%d", h.Attempt, index(driver.NodeOf(h.Owner)), h.Fence-fence, h.Granted-granted, h.Ended-h.Granted)
			if h.Error != "" {
				shards.WriteString("," + errorBytes.Escape(h.Error))
			}
		case s.Broadcast:
			fmt.Fprintf(&shards, ",%d", index(s.Params[i]))
		}
	}
	return strings.Join(nodes, ";") + "|" + shards.String()
}

// ReadSheet returns the shards of a line of a journal, with the fence of its run and the instant of its first grant. The
// owner of a shard is its node with nothing behind the stroke, and its state is RunDone. An error quotes a text that is no sheet.
func ReadSheet(text string, fence, granted int64) ([]Shard, error) {
	head, body, found := strings.Cut(text, "|")
	nodes := strings.Split(head, ";")
	fields := strings.Split(body, ";")
	if !found || len(fields) > MaxShards {
		return nil, fmt.Errorf("%s is no sheet", driver.Quote(text))
	}
	shards := make([]Shard, len(fields))
	for i, field := range fields {
		if !shards[i].read(field, nodes, fence, granted) {
			return nil, fmt.Errorf("%s is no sheet", driver.Quote(text))
		}
	}
	return shards, nil
}

// RerunShards returns how many shards of a sharded run that has ended had another attempt after the first: their node had died, or
// had given them back. It is 0 if the line has no sheet.
func (l *Line) RerunShards() (n int) {
	_, body, _ := strings.Cut(l.Sheet, "|")
	for shard := range strings.SplitSeq(body, ";") {
		_, grant, _ := strings.Cut(shard, ",")
		attempt, _, granted := strings.Cut(grant, ",")
		if granted && attempt != "0" && attempt != "1" {
			n++
		}
	}
	return n
}

func (h *Shard) read(field string, nodes []string, fence, granted int64) bool {
	parts := strings.Split(field, ",")
	h.Outcome, h.OK = strings.CutSuffix(parts[0], "+")
	h.State = RunDone // the text does not name the node that settled it
	switch len(parts) {
	case 1:
		return h.Outcome != ""
	case 2:
		at, err := strconv.Atoi(parts[1])
		if err != nil || at < 0 || at >= len(nodes) {
			return false
		}
		h.Owner = nodes[at] + "/"
		return h.Outcome != ""
	}
	var n [5]int64
	if len(parts) == len(n)+2 {
		var whole bool
		if h.Error, whole = driver.Unescape(parts[len(n)+1]); !whole || h.Error == "" {
			return false
		}
	} else if len(parts) != len(n)+1 {
		return false
	}
	if h.Outcome == "" {
		return false
	}
	for i := range n {
		var err error
		n[i], err = strconv.ParseInt(parts[i+1], 10, 64)
		least := int64(0)
		if i > 2 { // the store's clock may have gone back
			least = -driver.MaxNumber
		}
		if err != nil || n[i] < least || n[i] > driver.MaxNumber {
			return false
		}
	}
	if n[1] >= int64(len(nodes)) {
		return false
	}
	h.Attempt, h.Owner, h.Fence = int(n[0]), nodes[n[1]]+"/", fence+n[2]
	h.Granted = granted + n[3]
	h.Ended = h.Granted + n[4]
	return true
}
