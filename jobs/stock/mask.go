package stock

// Mask hides a receiver but for the first character: Ada Lovelace becomes A***.
// Of three characters or fewer none is shown.
func Mask(receiver string) string {
	const few = 3
	runes := []rune(receiver)
	if len(runes) <= few {
		return "***"
	}
	return string(runes[:1]) + "***"
}

// maskPhone hides a phone but for the last three digits.
func maskPhone(phone string) string {
	if len(phone) < 9 {
		return ""
	}
	return "+***" + phone[len(phone)-3:]
}
