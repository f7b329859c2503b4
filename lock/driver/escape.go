package driver

import "strings"

// An Escaping writes names in a form that a store can keep. ASCII letters and digits, and the other
// bytes that the store accepts, stay as they are; each other byte becomes %XX. Two different names
// never have the same escape. An Escaping may be used concurrently.
type Escaping struct {
	plain [256]bool
}

// NewEscaping returns an Escaping that keeps letters, digits and the bytes of plain.
func NewEscaping(plain string) *Escaping {
	e := new(Escaping)
	for _, c := range []byte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789" + plain) {
		e.plain[c] = true
	}
	return e
}

const hexDigits = "0123456789ABCDEF"

// Escape returns the escape of s.
func (e *Escaping) Escape(s string) string {
	odd := 0
	for i := range len(s) {
		if !e.plain[s[i]] {
			odd++
		}
	}
	if odd == 0 {
		return s
	}
	return string(e.Append(make([]byte, 0, len(s)+2*odd), s))
}

// Append appends the escape of s to b.
func (e *Escaping) Append(b []byte, s string) []byte {
	from := 0 // start of the bytes to copy as they are
	for i := range len(s) {
		if c := s[i]; !e.plain[c] {
			b = append(append(b, s[from:i]...), '%', hexDigits[c>>4], hexDigits[c&15])
			from = i + 1
		}
	}
	return append(b, s[from:]...)
}

// Unescape undoes Escape. It reports false if s has a % that begins no escape.
func Unescape(s string) (string, bool) {
	if strings.IndexByte(s, '%') < 0 {
		return s, true
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b = append(b, s[i])
			continue
		}
		if i+2 >= len(s) {
			return "", false
		}
		hi, lo := strings.IndexByte(hexDigits, s[i+1]), strings.IndexByte(hexDigits, s[i+2])
		if hi < 0 || lo < 0 {
			return "", false
		}
		b = append(b, byte(hi<<4|lo))
		i += 2
	}
	return string(b), true
}
