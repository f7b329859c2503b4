package spec

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/cronce/cronce/scheduler/internal/rendezvous"
)

// hashes are the ranges of a plain H, by field. The other fields do not accept H.
var hashes = map[int]struct{ min, max int }{
	second: {0, 59}, minute: {0, 59}, hour: {0, 23}, dayOfMonth: {1, 28}, dayOfWeek: {0, 6},
}

var hashed = regexp.MustCompile(`^H(?:\((\d{1,2})-(\d{1,2})\))?(?:/(\d{1,2}))?$`)

// ForJob returns a spec in which each item H of a field is replaced by a value, which a hash of the
// job's name chooses. The value is the same on all machines and in all versions, and differs
// between jobs, so that jobs that are due once an hour are not all due at once. The items are
//
//	H          a value of the field; of the day of month one from 1 to 28
//	H(0-29)    one in this range
//	H/15       each 15th value, from one of the first 15 on
//	H(0-29)/10 each 10th value in this range, from one of its first 10 on
//
// in the second, minute, hour, day of month and day of week. Any other text is returned unchanged:
// [Parse] finds its faults. Errors are of type [*Error].
func ForJob(text, job string) (string, error) {
	words := strings.Fields(text)
	first := 0 // index of the first field
	if len(words) > 0 && (strings.HasPrefix(words[0], "CRON_TZ=") || strings.HasPrefix(words[0], "TZ=")) {
		first = 1
	}
	rest, _ := cutLimits(words[first:])
	at, behind := second, first+len(rest)
	switch len(rest) {
	case 5:
		at = minute
	case 6, 7:
	default:
		return text, nil
	}
	found := false
	for i := first; i < behind; i, at = i+1, at+1 {
		items := strings.Split(words[i], ",")
		for k, item := range items {
			plain, reason := hashItem(at, item, job)
			if reason != "" {
				return "", &Error{Spec: strings.TrimSpace(text), Field: fields[at].name, Value: item, Reason: reason}
			}
			found = found || plain != item
			items[k] = plain
		}
		words[i] = strings.Join(items, ",")
	}
	if !found {
		return text, nil
	}
	return strings.Join(words, " "), nil
}

// hashItem returns an item of a field with H replaced, or the reason why it cannot be replaced.
func hashItem(at int, item, job string) (plain, reason string) {
	parts, all := hashed.FindStringSubmatch(item), hashes[at]
	if parts == nil || all.max == 0 {
		return item, ""
	}
	from, to := all.min, all.max
	if parts[1] != "" {
		from = number(parts[1]) // the pattern has matched only digits
		to = number(parts[2])
		most := fields[at].max
		if at == dayOfWeek {
			most = all.max // 7 would make Sunday twice as likely
		}
		if from < all.min || from > to || to > most {
			return "", fmt.Sprintf("must be a range in %d to %d, as in H(%d-%d)", all.min, most, all.min, most)
		}
	}
	value := rendezvous.Hash(fmt.Sprintf("%s\x00%d", job, at))
	if parts[3] == "" {
		return fmt.Sprint(from + int(value%uint64(to-from+1))), ""
	}
	step := number(parts[3])
	if step < 1 || step > to-from {
		return "", fmt.Sprintf("must be steps of 1 to %d", max(to-from, 1))
	}
	return fmt.Sprintf("%d-%d/%d", from+int(value%uint64(step)), to, step), ""
}
