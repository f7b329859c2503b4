package ops

import (
	"encoding/json"
	"time"
)

// An Instant is a time by the store's clock, in Unix milliseconds; zero: none. In JSON it is a time in UTC, as of [time.Time]. A
// projection of ten thousand jobs has half a million of them, and a time.Time would take three times as much memory.
type Instant int64

// InstantOf returns the instant of a time, without its microseconds. The instant of the zero time is zero.
func InstantOf(t time.Time) Instant {
	if t.IsZero() {
		return 0
	}
	return Instant(t.UnixMilli())
}

// Time returns the time in UTC; of zero, the zero time.
func (i Instant) Time() time.Time { return utc(int64(i)) }

// IsZero reports whether there is no time.
func (i Instant) IsZero() bool { return i == 0 }

// MarshalJSON implements [json.Marshaler].
func (i Instant) MarshalJSON() ([]byte, error) { return json.Marshal(i.Time()) }

// UnmarshalJSON implements [json.Unmarshaler].
func (i *Instant) UnmarshalJSON(text []byte) error {
	var t time.Time
	err := json.Unmarshal(text, &t)
	*i = InstantOf(t)
	return err
}
