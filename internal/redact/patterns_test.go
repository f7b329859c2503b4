package redact_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cronce/cronce/internal/redact"
)

func TestPatterns(t *testing.T) {
	for text, want := range map[string]string{
		// URLs and DSNs
		"dial redis://:hunter2@10.0.0.7:6379/0: i/o timeout":                  "dial redis://:[masked]@10.0.0.7:6379/0: i/o timeout",
		`parse "redis://user:pa/ss@host": invalid port ":pa" after host`:      `parse "redis://user:[masked]@host": invalid port ":pa" after host`,
		"postgres://bob:p@ss@db/shop?sslmode=disable":                         "postgres://bob:[masked]@db/shop?sslmode=disable",
		`Get "https://a:b@c/x?mail=d@e": EOF`:                                 `Get "https://a:[masked]@c/x?mail=d@e": EOF`,
		"http://a:b@c and http://d:e@f":                                       "http://a:[masked]@c and http://d:[masked]@f",
		"http://[::1]:80/x@y, http://u:p@[::1]:80/x@y":                        "http://[::1]:80/x@y, http://u:[masked]@[::1]:80/x@y",
		"open shop:hunter2@tcp(db:3306)/shop?timeout=1s: refused":             "open shop:[masked]@tcp(db:3306)/shop?timeout=1s: refused",
		"shop:pa:ss@unix(/run/mysqld.sock)/shop":                              "shop:[masked]@unix(/run/mysqld.sock)/shop",
		"host=db user=shop password=hunter2 port=5432":                        "host=db user=shop password=[masked] port=5432",
		"host=db password='two words' port=5432":                              "host=db password='[masked]' port=5432",
		"Server=db;Password=hunter2;Port=1":                                   "Server=db;Password=[masked];Port=1",
		"GET /v1?api_key=abc&page=2 and /v1?access_token=abc#top: status 500": "GET /v1?api_key=[masked]&page=2 and /v1?access_token=[masked] status 500",
		// names and values
		`{"user":"bob","password":"hun\"ter2","n":1}`:      `{"user":"bob","password":"[masked]","n":1}`,
		`"{\"password\":\"hunter2\",\"n\":1}"`:             `"{\"password\":\"[masked]\",\"n\":1}"`,
		`{"client_secret" : "a b", "apikey":12}`:           `{"client_secret" : "[masked]", "apikey":[masked]}`,
		`{"X-Api-Key":["abc"],"Authorization":["Basic x"]`: `{"X-Api-Key":["[masked]"],"Authorization":["[masked]"]`,
		"{Name:bob Password:hunter2}, (passwd=x).":         "{Name:bob Password:[masked]}, (passwd=[masked]).",
		"map[db_password:hunter2 user:bob]":                "map[db_password:[masked] user:bob]",
		"AWS_SECRET_ACCESS_KEY=abc DB_PASSWD = abc":        "AWS_SECRET_ACCESS_KEY=[masked] DB_PASSWD = [masked]",
		"password: hunter\ntoken := abc\nsecret => 'abc'":  "password: [masked]\ntoken := [masked]\nsecret => '[masked]'",
		`password="not closed`:                             `password="[masked]`,
		"password='not closed\nnext":                       "password='[masked]\nnext",
		"passwd='not closed\rnext":                         "passwd='[masked]\rnext",
		"token = abc, {Token:abc}, password\t=\tabc":       "token = [masked], {Token:[masked]}, password\t=\t[masked]",
		"token: abcdefghijklmnopqrst":                      "token: [masked]", // 20 bytes
		"token: 0af7651916cd43dd is refused":               "token: [masked] is refused",
		"PASSWORD=größe€ Token=ü":                          "PASSWORD=[masked] Token=[masked]",
		// headers
		"Authorization: Bearer abcdef":                          "Authorization: Bearer [masked]",
		"authorization: basic Ym9iOmh1bnRlcg==, accept: */*":    "authorization: basic [masked], accept: */*",
		"map[Authorization:[Bearer abc.DEF] Accept:[*/*]]":      "map[Authorization:[Bearer [masked]] Accept:[*/*]]",
		"Proxy-Authorization: 0123":                             "Proxy-Authorization: [masked]",
		"curl -H 'Authorization: token ghp_16C7e42F' https://x": "curl -H 'Authorization: token [masked]' https://x",
		"sent Bearer eyJhbGciOi.J9-_x, refused":                 "sent Bearer [masked], refused",
		"the token cro_0123456789abcdef0123 is gone":            "the token [masked] is gone",
		"the token cro_0123-4567_89ab-cdef is gone":             "the token [masked] is gone",
		// masked already
		"redis://u:[masked]@h password=[masked], token: [masked]. Bearer [masked]": "redis://u:[masked]@h password=[masked], token: [masked]. Bearer [masked]",
		"a:b://c:d@e(":        "a:b://c:[masked]@e(",
		"a:b://c:[masked]@e(": "a:b://c:[masked]@e(",
		"(password=[masked]), [masked]x password=[masked]x": "(password=[masked]), [masked]x password=[masked]",
	} {
		if got := redact.Patterns(text); got != want {
			t.Errorf("%q\nis   %q\nwant %q", text, got, want)
		}
	}
}

// These texts contain no secret.
func TestPatternsThatAreNone(t *testing.T) {
	for _, text := range []string{
		"", ":", "=", "://", "@", "://@", "http://:@h", "@tcp(", ":@tcp(x)", "Bearer ", "_", "cro_",
		"mail to bob@example.com: refused", "mailto:bob@example.com", "see bob@example.com (his address)", "git@github.com:cronce/cronce.git",
		"token expired", "basic auth failed", "bearer token is missing", "Bearer authentication required", `WWW-Authenticate: Bearer realm="api2"`,
		"password: ", "password:", "password=", `password=""`, `{"password":""}`, "password=&user=bob", "wrong password", "password is wrong: try again",
		"token: has expired", "invalid token: unexpected EOF", "secret: not found", "secrets \"api-token\" is forbidden: no rights",
		"authorization: denied", "authorization failed: denied", "no authorization: permission denied",
		"http://host:8080/path?mail=a@b", "https://example.com/@user", "ssh://git@github.com/x", "redis://10.0.0.7:6379/0", "http://[::1]:80",
		`Post "https://api.example.com/v1": dial tcp 10.0.0.7:443: connect: connection refused`,
		"exit code 3: no such table: tokens", "panic: runtime error: index out of range [5] with length 3",
		"goroutine 7 [running]:\nmain.(*vault).password(0xc000012345)\n\t/src/app/token.go:42 +0x1d\ncreated by main.secret in goroutine 1\n",
		"error 404 for 3 seconds", "r 1", "token: abcdefghijklmnopqrs", "http://host:80 bob@example.com", `"http://host:80","bob@example.com"`, " ", "micro_services_are_down_everywhere", "tokens=3 max_tokens: 5", "keyword=value x=1 y:2",
	} {
		if got := redact.Patterns(text); got != text {
			t.Errorf("%q is changed to %q", text, got)
		}
	}
}

// A text is masked before it is cut: no part of a secret at the cut is left.
func TestCutPatterns(t *testing.T) {
	for _, secret := range []string{"redis://user:hunter2222@host", "shop:hunter2222@tcp(db)", `"password":"hunter2222"`, "token=hunter2222", "Bearer hunter2222", `passwd='a hunter2222'`, "cro_hunter2222hunter2222"} {
		text := "begin " + secret + " end"
		for n := range len(text) + 2 {
			head, tail := redact.Head(text, n), redact.Tail(text, n)
			if strings.Contains(head, "hun") || strings.Contains(tail, "222") {
				t.Errorf("%d bytes of %q: %q and %q", n, text, head, tail)
			}
		}
		// The masks may make room for the end of the text that was read.
		for n := range len(secret) {
			text := strings.Repeat("password="+strings.Repeat("x", 99)+" ", 100)
			text = text[:1000+redact.MaxSecret-n] + " " + secret + " end"
			if got := redact.Head(text, 1000); strings.Contains(got, "hun") {
				t.Errorf("%q ends with a part of %q", got, secret)
			}
		}
	}
	for n, want := range []string{"", "", "ü", "üb", "üb"} {
		if got := redact.Head("üb", n); got != want {
			t.Errorf("the first %d bytes are %q", n, got)
		}
	}
	if got := redact.Tail("password=hunter2 abc", 3); got != "abc" {
		t.Errorf("the tail behind a secret is %q", got)
	}
	if got := redact.Tail("bü", 1); got != "" {
		t.Errorf("the last byte is %q", got)
	}
	if got := redact.Tail("bü", 3); got != "bü" {
		t.Errorf("the whole text is %q", got)
	}
}

// A secret that stands in one of these places never appears in the result.
func FuzzPatterns(f *testing.F) {
	for _, s := range []string{"", "password=", "\"token\": \"x", "http://a:b@c/d@", "a:b@tcp(", "Bearer ", "[masked]", "Authorization: Basic ", "cro_0123456789abcdef0"} {
		f.Add(s, s, 7)
	}
	const secret = "hunter2hunter2hunter2"
	places := []string{"amqp://u:" + secret + "@h", "u:" + secret + "@tcp(h)", "password=" + secret, "?token=" + secret + "&x", `"Client_Secret" : "` + secret + `"`,
		`\"api_key\":\"` + secret + `\"`, "passwd: " + secret, "Bearer " + secret, "Authorization: Basic " + secret, "cro_" + secret}
	f.Fuzz(func(t *testing.T, before, after string, n int) {
		got := redact.Patterns(before + after)
		if again := redact.Patterns(got); again != got {
			t.Errorf("%q is masked as %q, and then as %q", before+after, got, again)
		}
		if utf8.ValidString(before+after) && !utf8.ValidString(got) {
			t.Errorf("%q is split: %q", before+after, got)
		}
		if strings.Contains(before+after, "hunter") {
			return
		}
		for _, place := range places {
			text := before + "\n" + place + "\n" + after
			if got := redact.Patterns(text); strings.Contains(got, secret) {
				t.Errorf("%q is shown as %q", text, got)
			}
			if n = max(0, n%(len(text)+1)); strings.Contains(redact.Head(text, n), "hunter") || strings.Contains(redact.Tail(text, n), "hunter") {
				t.Errorf("%d bytes of %q are %q and %q", n, text, redact.Head(text, n), redact.Tail(text, n))
			}
		}
	})
}

// No text takes more than time in proportion to its length.
func BenchmarkPatterns(b *testing.B) {
	for name, text := range map[string]string{
		"64 bytes":             `dial tcp 10.0.0.7:5432: connect: connection refused (try 3 of 3)`,
		"64 bytes, a secret":   `dial redis://user:hunter2@10.0.0.7:6379: connection refused (3/3)`,
		"16 KiB":               strings.Repeat("2026-11-23T02:00:00Z worker: sent=12 failed=0, took: 31 ms; ok.\n", 256),
		"16 KiB of passwords":  strings.Repeat("password=x ", 1490),
		"16 KiB of DSNs":       strings.Repeat("@a(", 5461),
		"16 KiB of URLs":       strings.Repeat("a://b:c", 2340),
		"16 KiB of quotes":     strings.Repeat(`token: "`, 2048),
		"16 KiB of one letter": strings.Repeat("=", 16384),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				redact.Patterns(text)
			}
		})
	}
}
