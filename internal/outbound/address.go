package outbound

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"syscall"
)

// notPublic are the addresses that are not public: the ranges of RFC 6890 and the registries of IANA,
// and metadata addresses of clouds that are in neither.
var notPublic = prefixes("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
	"192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3", // multicast, reserved, broadcast
	"168.63.129.16/32",                                                  // the metadata of Azure
	"::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", // unspecified, loopback, translated locally, discarded, Teredo and others, documentation
	"3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8")

// An IPv6 address in these prefixes contains the IPv4 address to which its packets go, right after
// the prefix.
var translated = prefixes("64:ff9b::/96", "2002::/16")

func prefixes(texts ...string) (list []netip.Prefix) {
	for _, text := range texts {
		list = append(list, netip.MustParsePrefix(text))
	}
	return list
}

// Public reports whether an address is public.
func Public(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	contains := func(p netip.Prefix) bool { return p.Contains(ip) }
	if i := slices.IndexFunc(translated, contains); i >= 0 {
		all, at := ip.As16(), translated[i].Bits()/8
		return Public(netip.AddrFrom4([4]byte(all[at : at+4])))
	}
	return ip.IsValid() && !slices.ContainsFunc(notPublic, contains)
}

// An AddressError reports that a connection was refused because of its address.
type AddressError struct{ address string }

func (e *AddressError) Error() string {
	return fmt.Sprintf("the address %s is not public, and private ones are not allowed: see allow_private", e.address)
}

// OnlyPublic refuses connections to addresses that are not public. It is a
// [net.Dialer.ControlContext], which is called with the address right before the connection is made.
func OnlyPublic(_ context.Context, _, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || !Public(at.Addr()) {
		return &AddressError{address}
	}
	return nil
}
