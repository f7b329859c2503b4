package http

import (
	"net/netip"
	"strings"
	"testing"
	"time"
)

func TestFaults(t *testing.T) {
	for want, r := range map[string]Request{
		`method is "get", must be DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT`:     {Method: "get"},
		`url is of another scheme, or without a host, must be an http or https URL`: {URL: "ftp://x"},
		`url is not a URL`:                                                           {URL: "http://%zz"},
		`url is one with a user or password`:                                         {URL: "http://me:hunter22@x"},
		`url is one with a wrong port`:                                               {URL: "http://x:99999"},
		`url is one with the address 10.0.0.1`:                                       {URL: "http://10.0.0.1/"},
		`url is one with the address ::1`:                                            {URL: "http://[::1]:80/"},
		`proxy is of another scheme`:                                                 {Proxy: "socks5://x"},
		`proxy is one with a user or password`:                                       {Proxy: "http://me:hunter22@x"},
		`headers is "a b", must be names`:                                            {Headers: map[string]string{"a b": "x"}},
		`headers.host is set`:                                                        {Headers: map[string]string{"host": "x"}},
		`headers.cronce-fence is set`:                                                {Headers: map[string]string{"cronce-fence": "x"}},
		`headers.idempotency-key is set`:                                             {SecretHeaders: map[string]func() string{"idempotency-key": nil}},
		`headers.x-a is there twice`:                                                 {Headers: map[string]string{"X-A": "x"}, SecretHeaders: map[string]func() string{"x-a": nil}},
		`headers.X-A is not printable`:                                               {Headers: map[string]string{"X-A": "hunter22\n"}},
		`body is a template with a fault (body:1: unclosed action)`:                  {Body: "{{.Job"},
		`can't evaluate field Node), must be a template with the fields .Job, .Tick`: {Body: "{{.Node}}"},
		`body is no JSON when it is rendered`:                                        {Body: `{"job": {{.Job}}}`},
		`(range is not allowed)`:                                                     {Body: `{{range 99999999999}}{{end}}`},
		`body is longer when it is rendered`:                                         {Body: `"` + strings.Repeat("x", 64<<10) + `"`},
		`expect[1] is 600, must be 200 to 599`:                                       {Expect: []int{204, 600}},
		`timeout is -1s, must be 0 or more`:                                          {Timeout: -time.Second},
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

func TestPublic(t *testing.T) {
	for _, text := range []string{"0.0.0.0", "0.1.2.3", "10.1.2.3", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.255.0.1", "169.254.169.254", "172.16.0.1", "172.31.255.255",
		"192.0.0.192", "192.168.1.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "168.63.129.16",
		"::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "64:ff9b::10.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:7f00:1::", "2002:0a00:0001::1",
		"2001::1", "2001:db8::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "100::1", "5f00::1", "3fff::1"} {
		if public(netip.MustParseAddr(text)) {
			t.Errorf("%s is public", text)
		}
	}
	for _, text := range []string{"1.1.1.1", "9.255.255.255", "100.63.255.255", "100.128.0.1", "172.15.0.1", "172.32.0.1", "192.0.1.1", "223.255.255.255", "168.63.129.17",
		"::ffff:1.1.1.1", "64:ff9b::1.1.1.1", "2002:0101:0101::1", "2606:4700::1111", "2a00:1450::1", "2001:4860:4860::8888"} {
		if !public(netip.MustParseAddr(text)) {
			t.Errorf("%s is not public", text)
		}
	}
	if public(netip.Addr{}) {
		t.Error("no address is public")
	}
}
