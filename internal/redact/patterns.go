package redact

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Patterns masks the parts of a text that look like secrets:
//
//   - the password in a URL, as in scheme://user:secret@host, and in a DSN of MySQL, as in
//     user:secret@tcp(host)
//   - the token behind the word Bearer, and the value of the header Authorization
//   - the value behind a name that ends with password, passwd, passphrase, token, secret, api_key, api-key,
//     apikey or access_key, in name=value, a query string, JSON, YAML and a header
//   - tokens of the pages and the API, which begin with cro_
//
// In prose with a colon, as in "token: has expired", it masks a value only if the value has a digit
// or 20 bytes, but any value behind "password:". Each line stands alone. Patterns cannot find every
// secret. It takes time in proportion to the length of the text, and returns the text of an earlier
// call unchanged.
func Patterns(text string) string { return maskPatterns(text, 0, false) }

// Head returns the first n bytes of a text, masked as by [Patterns], or fewer so that no character
// is cut. The text is masked before it is cut: of a secret of up to MaxSecret bytes that begins in
// the first n bytes nothing is left.
func Head(text string, n int) string {
	short := Cut(text, n+MaxSecret)
	return Cut(maskPatterns(short, 0, len(short) < len(text)), n)
}

// Tail returns about the last n bytes of a text, masked as by [Patterns]. A secret of up to
// MaxSecret bytes may begin before them. The result may be longer than n, because a mask may be
// longer than the secret.
func Tail(text string, n int) string {
	cut := len(text) > n
	text = text[max(len(text)-n-MaxSecret, 0):]
	from := max(len(text)-n, 0)
	for i := 1; cut && i < utf8.UTFMax && from < len(text) && !utf8.RuneStart(text[from]); i++ {
		from++
	}
	if text = maskPatterns(text, from, false); cut {
		return strings.Clone(text) // which does not keep all of the text in memory
	}
	return text
}

// maskPatterns masks a text, and returns it from the given index on. The text was cut at its end if
// cut is set: an end that may be the beginning of a secret is then masked, too.
func maskPatterns(text string, from int, cut bool) string {
	s := scanner{text: text, from: from, cut: cut}
	for s.at < len(text) {
		if !begins[text[s.at]] || !s.look() {
			s.at++
		}
	}
	if cut {
		s.password(s.word(len(text)), len(text))
	}
	if s.done == 0 {
		return text[from:]
	}
	s.out.WriteString(text[max(s.done, from):])
	return s.out.String()
}

// begins are the characters that end the mark of a secret.
var begins = [256]bool{':': true, '=': true, '@': true, ' ': true, '\t': true, '_': true}

// A scanner finds secrets in a text, from its beginning to its end.
type scanner struct {
	text string
	from int // the text before it is not part of the result
	cut  bool
	at   int
	done int // the text before it is in the result
	out  strings.Builder

	seen            int // the text before it has no more passwords of DSNs
	wordEnd, lastAt int // the end of a word in which a URL was found, and its last @
}

// mask masks the text between two indexes, and goes on behind it. It reports whether there is any.
func (s *scanner) mask(from, to int) bool {
	if from >= to || from < s.done {
		return false
	}
	if from > s.from {
		s.out.WriteString(s.text[max(s.done, s.from):from])
	}
	if to > s.from {
		s.out.WriteString(mask)
	}
	s.at, s.done = to, to
	return true
}

// look masks the secret whose mark ends here. It reports whether there is one.
func (s *scanner) look() bool {
	text, at := s.text, s.at
	switch text[at] {
	case '=':
		return s.value()
	case ':':
		if strings.HasPrefix(text[at:], "://") {
			return s.url(at + len("://"))
		}
		return s.value()
	case '@': // of a DSN of MySQL
		end := at + 1
		for end < len(text) && isLetter(text[end]) {
			end++
		}
		if end == at+1 || end == len(text) || text[end] != '(' {
			return false
		}
		from := s.word(at)
		s.seen = at
		return s.password(from, at)
	case '_':
		end := at + 1
		for end < len(text) && isToken(text[end]) {
			end++
		}
		whole := end-at > 16 || s.cut && end == len(text)
		return whole && s.behind(at, "cro") && s.mask(at-len("cro"), end)
	}
	if at == 0 || text[at-1]|0x20 != 'r' || !s.behind(at, "bearer") {
		return false
	}
	from := s.skip(at, " \t")
	return s.secret(from, s.unquoted(from), guessed)
}

// behind reports whether the word before an index is w.
func (s *scanner) behind(at int, w string) bool {
	from := at - len(w)
	return from >= s.done && strings.EqualFold(s.text[from:at], w) && (from == 0 || !isLetter(s.text[from-1]))
}

// skip returns the index of the first byte, at an index or behind it, that is not one of some.
func (s *scanner) skip(at int, some string) int {
	for at < len(s.text) && strings.IndexByte(some, s.text[at]) >= 0 {
		at++
	}
	return at
}

// word returns the beginning of the word that ends at an index, at most MaxSecret bytes before it.
func (s *scanner) word(end int) int {
	from := end
	for from > max(s.done, s.seen, end-MaxSecret) && !endsWord(s.text[from-1]) {
		from--
	}
	return from
}

// password masks the part between the first colon of a word and its end.
func (s *scanner) password(from, to int) bool {
	colon := strings.IndexByte(s.text[from:to], ':')
	return colon >= 0 && s.secret(from+colon+1, to, sure)
}

// url masks the password of a URL whose host, or user, begins at an index. The password ends before
// the last @ ahead of the path. It ends before a later @ if it has characters of a path itself,
// which a parser refuses in an error that repeats the URL.
func (s *scanner) url(from int) bool {
	if from > s.wordEnd {
		s.wordEnd, s.lastAt = from, -1
		for s.wordEnd < len(s.text) && !endsWord(s.text[s.wordEnd]) {
			if s.text[s.wordEnd] == '@' {
				s.lastAt = s.wordEnd
			}
			s.wordEnd++
		}
	}
	if s.lastAt < from {
		return false
	}
	end := from
	for end < s.wordEnd && strings.IndexByte(`/?#\`, s.text[end]) < 0 {
		end++
	}
	host := s.text[from:end]
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		return s.password(from, from+at)
	}
	_, port, _ := strings.Cut(host[strings.LastIndexByte(host, ']')+1:], ":")
	return strings.Trim(port, "0123456789") != "" && s.password(from, s.lastAt)
}

// value masks the value behind the = or : that is here, if the name before it is the name of a secret.
func (s *scanner) value() bool {
	name, quoted := s.name()
	if name == none {
		return false
	}
	key := s.at
	at := s.skip(key+1, "=>")
	from := s.skip(at, " \t")
	how := sure
	if s.text[key] == ':' && at == key+1 && from > at && !quoted && name != password {
		how = guessed
	}
	if !strings.HasPrefix(s.text[from:], mask) {
		from = s.skip(from, "[") // of a list, as in headers
	}
	if begin := s.skip(from, `\`); begin < len(s.text) && strings.IndexByte("\"'`", s.text[begin]) >= 0 {
		return s.secret(begin+1, s.quoted(begin+1, s.text[from:begin+1]), how)
	}
	if name == header {
		end := s.unquoted(from)
		if slices.ContainsFunc(schemes, func(scheme string) bool { return strings.EqualFold(s.text[from:end], scheme) }) {
			from, how = s.skip(end, " \t"), sure
		}
	}
	return s.secret(from, s.unquoted(from), how)
}

// schemes are the words before the value of the header Authorization.
var schemes = []string{"Basic", "Bearer", "Digest", "Token", "ApiKey", "Negotiate"}

// The kinds of names.
const (
	none = iota
	password
	other
	header
)

// name returns the kind of the name that ends here, and whether it is in quotes.
func (s *scanner) name() (kind int, quoted bool) {
	const most = 8 // spaces, quotes and backslashes
	end := s.at
	least := max(s.done, end-most)
	for end > least && isSpace(s.text[end-1]) {
		end--
	}
	for end > least && strings.IndexByte("\"'`\\", s.text[end-1]) >= 0 {
		end--
		quoted = true
	}
	if end == s.done {
		return none, false
	}
	switch s.text[end-1] | 0x20 { // the last letters of the names
	case 'd', 'n', 't', 'y', 'e':
	default:
		return none, false
	}
	for _, n := range names {
		if from := end - len(n.name); from >= s.done && strings.EqualFold(s.text[from:end], n.name) {
			return n.kind, quoted
		}
	}
	return none, false
}

var names = []struct {
	name string
	kind int
}{
	{"password", password}, {"passwd", password}, {"passphrase", password}, {"token", other}, {"secret", other},
	{"api_key", other}, {"api-key", other}, {"apikey", other}, {"access_key", other}, {"authorization", header},
}

// quoted returns the end of a value that ends before a quote, or with the line.
func (s *scanner) quoted(from int, quote string) int {
	end := from
	for end < len(s.text) && s.text[end] != '\n' && s.text[end] != '\r' {
		if strings.HasPrefix(s.text[end:], quote) {
			return end
		}
		if len(quote) == 1 && s.text[end] == '\\' && end+1 < len(s.text) && s.text[end+1] >= ' ' {
			end++ // a quote with a backslash does not end the value
		}
		end++
	}
	return end
}

// unquoted returns the end of a value without quotes: a space, a quote, an ampersand or a
// semicolon. Brackets, commas and dots at its end are not part of it.
func (s *scanner) unquoted(from int) int {
	end := from
	if strings.HasPrefix(s.text[from:], mask) {
		from += len(mask)
	}
	for end < len(s.text) && !endsValue(s.text[end]) {
		end++
	}
	for end > from && strings.IndexByte("()[]{}>,.", s.text[end-1]) >= 0 {
		end--
	}
	return max(end, from)
}

// How a value is known to be a secret.
const (
	sure    = iota
	guessed // it is one if it has a digit or 20 bytes
)

// secret masks a value if it is a secret. A value that is masked already gets the same mask, so that
// the rest of the text is read as in an earlier call.
func (s *scanner) secret(from, to int, how int) bool {
	if value := s.text[from:to]; how == guessed && value != mask && !(s.cut && to == len(s.text)) {
		value = strings.ReplaceAll(value, mask, "")
		if len(value) < 20 && !strings.ContainsAny(value, "0123456789") {
			return false
		}
	}
	return s.mask(from, to)
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' }

func isLetter(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' }

func isToken(c byte) bool { return isLetter(c) || c == '_' || c == '-' }

func endsWord(c byte) bool { return c <= ' ' || strings.IndexByte("\"'`<>", c) >= 0 }

func endsValue(c byte) bool { return c <= ' ' || strings.IndexByte("\"'`&;", c) >= 0 }
