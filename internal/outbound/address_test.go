package outbound_test

import (
	"net/netip"
	"testing"

	"github.com/cronce/cronce/internal/outbound"
)

func TestPublic(t *testing.T) {
	for _, text := range []string{"0.0.0.0", "0.1.2.3", "10.1.2.3", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.255.0.1", "169.254.169.254", "172.16.0.1", "172.31.255.255",
		"192.0.0.192", "192.168.1.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "168.63.129.16",
		"::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "64:ff9b::10.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:7f00:1::", "2002:0a00:0001::1",
		"2001::1", "2001:db8::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "100::1", "5f00::1", "3fff::1"} {
		if outbound.Public(netip.MustParseAddr(text)) {
			t.Errorf("%s is public", text)
		}
	}
	for _, text := range []string{"1.1.1.1", "9.255.255.255", "100.63.255.255", "100.128.0.1", "172.15.0.1", "172.32.0.1", "192.0.1.1", "223.255.255.255", "168.63.129.17",
		"::ffff:1.1.1.1", "64:ff9b::1.1.1.1", "2002:0101:0101::1", "2606:4700::1111", "2a00:1450::1", "2001:4860:4860::8888"} {
		if !outbound.Public(netip.MustParseAddr(text)) {
			t.Errorf("%s is not public", text)
		}
	}
	if outbound.Public(netip.Addr{}) {
		t.Error("no address is public")
	}
	for address, want := range map[string]string{
		"1.1.1.1:443": "", "[2606:4700::1111]:443": "",
		"10.1.2.3:443": "the address 10.1.2.3:443 is not public, and private ones are not allowed: see allow_private",
		"a.example:80": "the address a.example:80 is not public, and private ones are not allowed: see allow_private",
	} {
		if err := outbound.OnlyPublic(t.Context(), "tcp", address, nil); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%s: %v, want %q", address, err, want)
		}
	}
}
