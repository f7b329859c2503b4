package config

import "testing"

func TestRemote(t *testing.T) {
	for address, want := range map[string]bool{
		"": false, "localhost:6379": false, "LOCALHOST": false, "127.0.0.1:1": false, "127.9.9.9": false, "[::1]:7": false, "::1": false, "/run/pg": false,
		"h": true, "h:1": true, "10.0.0.1:1": true, "[fe80::1]:1": true, "0.0.0.0:1": true, "localhost.evil.example": true,
	} {
		if remote(address) != want {
			t.Errorf("%q", address)
		}
	}
}
