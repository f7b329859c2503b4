package sms

// The parts of a number that Mask may show.
const (
	maskHead   = 6
	maskTail   = 4
	maskHidden = 4 // at least so many characters are never shown
)

// Mask hides the middle of a phone number: +8613812345678 becomes +86138****5678.
// At least four characters are hidden; of eight or fewer none is shown. The
// number need not be valid.
func Mask(number string) string {
	runes := []rune(number)
	head := min(maskHead, len(runes)-maskTail-maskHidden)
	if head <= 0 {
		return "****"
	}
	return string(runes[:head]) + "****" + string(runes[len(runes)-maskTail:])
}
