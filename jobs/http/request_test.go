package http

import (
	nethttp "net/http"
	"strings"
	"testing"
	"time"
)

func TestFaults(t *testing.T) {
	for want, r := range map[string]Request{
		`method is "get", must be DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT`:     {Method: "get"},
		`url is of another scheme, or without a host, must be an http or https URL`: {URL: "ftp://x"},
		`url is not a URL`:                   {URL: "http://%zz"},
		`url is one with a user or password`: {URL: "http://me:hunter22@x"},
		`url is one with a wrong port`:       {URL: "http://x:99999"},
		`url is one with the address 10.0.0.1, must be one with a public address, unless AllowPrivate is true`: {URL: "http://10.0.0.1/"},
		`url is one with the address ::1`:                                            {URL: "http://[::1]:80/"},
		`proxy is of another scheme`:                                                 {Proxy: "socks5://x"},
		`proxy is one with a user or password`:                                       {Proxy: "http://me:hunter22@x"},
		`headers is "a b", must be names`:                                            {Headers: map[string]string{"a b": "x"}},
		`headers is "", must be names`:                                               {Headers: map[string]string{"": "x"}},
		`headers is "a[", must be names`:                                             {Headers: map[string]string{"a[": "x"}},
		`headers is "a{", must be names`:                                             {Headers: map[string]string{"a{": "x"}},
		`headers is "a:", must be names`:                                             {Headers: map[string]string{"a:": "x"}},
		`headers.host is set`:                                                        {Headers: map[string]string{"host": "x"}},
		`headers.cronce-fence is set`:                                                {Headers: map[string]string{"cronce-fence": "x"}},
		`headers.idempotency-key is set`:                                             {SecretHeaders: map[string]func() string{"idempotency-key": nil}},
		`headers.x-a is there twice`:                                                 {Headers: map[string]string{"X-A": "x"}, SecretHeaders: map[string]func() string{"x-a": nil}},
		`headers.X-A is nil, must be a function`:                                     {SecretHeaders: map[string]func() string{"X-A": nil}},
		`headers.X-A is not printable`:                                               {Headers: map[string]string{"X-A": "hunter22\n"}},
		`headers.X-B is not printable`:                                               {Headers: map[string]string{"X-B": "hunter22\x7f"}},
		`body is a template with a fault (body:1: unclosed action)`:                  {Body: "{{.Job"},
		`can't evaluate field Node), must be a template with the fields .Job, .Tick`: {Body: "{{.Node}}"},
		`body is no JSON when it is rendered`:                                        {Body: `{"job": {{.Job}}}`},
		`is no JSON when it is rendered`:                                             {Body: "{{.Job}}", Headers: map[string]string{"Content-Type": "Application/JSON ; charset=utf-8"}},
		`no JSON when it is rendered`:                                                {Body: "{{.Job}}", Headers: map[string]string{"Content-Type": "application/vnd.x+json"}},
		`(range is not allowed)`:                                                     {Body: `{{range 99999999999}}{{end}}`},
		`body is longer when it is rendered`:                                         {Body: `"` + strings.Repeat("x", 64<<10) + `"`},
		`longer when it is rendered, must be up to 65536 bytes`:                      {Body: `"` + strings.Repeat("x", 32<<10) + "{{.Job}}" + strings.Repeat("x", 32<<10) + `"`},
		`expect[1] is 600, must be 200 to 599`:                                       {Expect: []int{204, 600}},
		`expect[0] is 199, must be 200 to 599`:                                       {Expect: []int{199, 204}},
		`timeout is -1s, must be 0 or more`:                                          {Timeout: -time.Second},
		`max_retry_after is -1s, must be 0 or more`:                                  {MaxRetryAfter: -time.Second},
	} {
		if r.URL == "" {
			r.URL = "https://example.com"
		}
		_, err := New(r)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter22") || strings.Contains(err.Error(), "\nhttp") {
			t.Errorf("%v, want %s", err, want)
		}
	}
	for _, r := range []Request{
		{URL: "https://example.com"}, {URL: "http://[2606:4700::1]:8080/a b?c=d"}, {URL: "http://10.0.0.1", AllowPrivate: true}, {URL: "http://10.0.0.1", Proxy: "http://10.0.0.2:3128"},
		{URL: "https://example.com", Expect: []int{200, 599}, Headers: map[string]string{"X-09!": "a\tb", "A-Z~": "", "Content-Type": "application/json"}},
		{URL: "https://example.com", Body: `"` + strings.Repeat("x", 64<<10-2) + `"`}, {URL: "https://example.com", Body: `"{{slice .RunID 0 7}}"`},
		{URL: "https://example.com", Body: "no JSON {{.Job}}", Headers: map[string]string{"content-type": "text/plain"}},
		{URL: "https://example.com", Body: `["{{.Job}}", {{.Fence}}, "{{if gt .Attempt 1}}again{{end}}"]`, Headers: map[string]string{"Content-Type": "application/vnd.x+json; charset=utf-8"}},
	} {
		if _, err := New(r); err != nil {
			t.Error(err)
		}
	}
}

// Characters that no name of a job can have today are escaped too.
func TestEscape(t *testing.T) {
	if got := escape("a\"b\\c\n</script>\xff"); got != `a\"b\\c\n\u003c/script\u003e\ufffd` {
		t.Error(got)
	}
}

// A function keeps a copy of its request.
func TestRequestIsCopied(t *testing.T) {
	var got string
	r := Request{URL: serve(t, func(_ nethttp.ResponseWriter, r *nethttp.Request) { got = r.Header.Get("X-Mine") }), AllowPrivate: true,
		Headers: map[string]string{"X-Mine": "before"}, Expect: []int{200}}
	f, err := New(r)
	if err != nil {
		t.Fatal(err)
	}
	r.Headers["X-Mine"], r.Expect[0] = "after", 201
	if err := f(t.Context(), theRun); err != nil || got != "before" {
		t.Errorf("%q: %v", got, err)
	}
}
