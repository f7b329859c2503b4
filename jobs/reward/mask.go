package reward

import "fmt"

// The parts of a name that Mask may show.
const (
	maskHead   = 2
	maskHidden = 3 // at least so many characters are never shown
)

// Mask shows the first two characters of a family or a member and hides the rest,
// its length included: "family-4711" becomes "fa****". Of a name shorter than five
// characters only the first is shown, and none of one shorter than four. The name
// need not be valid.
func Mask(name string) string {
	runes := []rune(name)
	head := min(maskHead, len(runes)-maskHidden)
	if name == "" {
		return ""
	}
	return string(runes[:max(0, head)]) + "****"
}

// cut keeps an error from being flooded.
func cut(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	return fmt.Sprintf("%s… (%d bytes)", s[:most], len(s))
}
