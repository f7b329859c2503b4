package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cronce/cronce/cmd/internal/config"
)

// Each bad value of a job of kind http is one fault with its place.
func TestHTTPFaults(t *testing.T) {
	for setting, want := range map[string]string{
		"http: {url: 'ftp://x'}":                                                              "c.yaml:5:12: jobs[0].http.url: is of another scheme, or without a host, must be an http or https URL",
		"http: {}":                                                                            "c.yaml:5:5: jobs[0].http.url: is of another scheme, or without a host",
		"timeout: 1s":                                                                         "jobs[0].http: is missing, must have a URL",
		"http: {url: 'https://me:hunter22@x'}":                                                "jobs[0].http.url: is one with a user or password",
		"http: {url: 'http://127.0.0.1:1'}":                                                   "jobs[0].http.url: is one with the address 127.0.0.1, must be one with a public address, unless allow_private is true",
		"http: {url: 'https://x', method: FETCH}":                                             `c.yaml:5:30: jobs[0].http.method: is "FETCH", must be DELETE, GET`,
		"http: {url: 'https://x', proxy: 'x:1'}":                                              "c.yaml:5:30: jobs[0].http.proxy: is of another scheme",
		"http: {url: 'https://x', headers: {Authorization: hunter22}}":                        "c.yaml:5:40: jobs[0].http.headers.Authorization: may not stand here: name a variable, as in \"Bearer ${TOKEN}\", or set header_file",
		"http: {url: 'https://x', headers: {x-api-key: hunter22}}":                            "c.yaml:5:40: jobs[0].http.headers.x-api-key: may not stand here",
		"http: {url: 'https://x', headers: {Host: y}}":                                        "c.yaml:5:40: jobs[0].http.headers.Host: is set, must be left out",
		"http: {url: 'https://x', headers: {'a b': y}}":                                       `jobs[0].http.headers: is "a b", must be names of headers`,
		"http: {url: 'https://x', headers: [a]}":                                              "jobs[0].http.headers: is a list, must be a mapping",
		"http: {url: 'https://x', headers: {Cronce-Fence: '${A}'}}":                           "c.yaml:5:40: jobs[0].http.headers.Cronce-Fence: is set, must be left out",
		"http: {url: 'https://x', headers: {X-A: A}, header_file: {X-A: b}}":                  "c.yaml:5:40: jobs[0].http.headers.X-A: and header_file.X-A are both set",
		"http: {url: 'https://x', headers: {X-A: A}, header_file: {x-a: b}}":                  "jobs[0].http.header_file.x-a: is there twice",
		"http: {url: 'https://x', body: '{{.Job'}":                                            "c.yaml:5:30: jobs[0].http.body: is a template with a fault (body:1: unclosed action)",
		"http: {url: 'https://x', body: '{\"a\": {{.Job}}}'}":                                 "jobs[0].http.body: is no JSON when it is rendered",
		"http: {url: 'https://x', expect: [200, 99]}":                                         "jobs[0].http.expect[1]: is 99, must be 200 to 599",
		"http: {url: 'https://x', timeout: -1s}":                                              "c.yaml:5:30: jobs[0].http.timeout: is -1s, must be 0 or more",
		"http: {url: 'https://x', timeot: 1s}":                                                "jobs[0].http.timeot: unknown key, did you mean \"timeout\"?",
		"http: {url: 'https://x', method: POST}\n    takeover: rerun":                         "c.yaml:6:5: jobs[0].takeover: is rerun, must be lost",
		"http: {url: 'https://x', method: POST}\n    interrupted: rerun":                      "c.yaml:6:5: jobs[0].interrupted: is rerun, must be lost",
		"http: {url: 'https://x'}\n    sleep: {for: 1s}":                                      "jobs[0].sleep: are settings of kind sleep, but the job is of kind \"http\"",
		"http: {url: 'https://x', method: POST, idempotent: true}\n    takeover: rerun":       "",
		"http: {url: 'https://x', method: PUT}\n    takeover: rerun":                          "",
		"http: {url: '${A}', headers: {Authorization: 'Bearer ${A}'}, header_file: {X-A: b}}": "",
	} {
		_, err := nodeConfig(t, "--config", file(t, "c.yaml", "jobs:\n  - kind: http\n    name: a\n    spec: '@daily'\n    "+setting+"\n"))
		switch n := len(config.Split(err)); {
		case want == "" && err != nil, want != "" && n != 1:
			t.Errorf("%s: %d faults: %v", setting, n, err)
		case want != "" && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter22")):
			t.Errorf("%s: got %v, want %s", setting, err, want)
		}
	}
}

// Each of several bad values of one job of kind http is reported.
func TestHTTPFaultsOfOneJob(t *testing.T) {
	_, err := nodeConfig(t, "--config", file(t, "c.yaml", "jobs:\n  - {kind: http, name: a, spec: '@daily', http: {url: 'https://x', method: FETCH, expect: [200, 99]}}\n"))
	text := fmt.Sprint(err)
	if n := len(config.Split(err)); n != 2 || !strings.Contains(text, "jobs[0].http.method: is") || !strings.Contains(text, "jobs[0].http.expect[1]: is 99") {
		t.Errorf("%d faults: %v", n, err)
	}
}
