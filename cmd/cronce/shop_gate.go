package main

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/cronce/cronce/jobs/stock"
)

// The bounds of what a shop is given.
const (
	maxInFlight  = 4096
	maxShopWait  = 5 * time.Second
	maxPerMinute = 1_000_000
)

// rateConfig says how often something may be done.
type rateConfig struct {
	PerMinute int `yaml:"per_minute"`
	Burst     int `yaml:"burst"`
}

func (r rateConfig) rate() stock.Rate { return stock.Rate{PerMinute: r.PerMinute, Burst: r.Burst} }

// gate is what a shop lets in, and how much of it at once.
func (s *shopConfig) gate() stock.HandlerOptions {
	o := stock.HandlerOptions{InFlight: s.InFlight, Wait: time.Duration(s.Wait), Timeout: time.Duration(s.Timeout),
		BuyerRate: s.BuyerRate.rate(), AddressRate: s.AddressRate.rate()}
	for _, text := range s.TrustedProxies {
		if p, err := proxyPrefix(text); err == nil { // gateFaults has refused others
			o.TrustedProxies = append(o.TrustedProxies, p)
		}
	}
	return o
}

// proxyPrefix reads an address, or a range of them.
func proxyPrefix(text string) (netip.Prefix, error) {
	if at, err := netip.ParseAddr(text); err == nil {
		at = at.Unmap().WithZone("")
		return netip.PrefixFrom(at, at.BitLen()), nil
	}
	p, err := netip.ParsePrefix(text)
	if err == nil && p.Addr().Is4In6() && p.Bits() < 96 {
		err = errors.New("a range of IPv4-mapped addresses has 96 bits or more") // it would match none
	}
	return p.Masked(), err
}

// gateFaults checks it.
func (s *shopConfig) gateFaults(bad func(path, format string, args ...any)) {
	if s.InFlight < 0 || s.InFlight > maxInFlight {
		bad("shop.in_flight", "is %d, allowed is 1 to %d", s.InFlight, maxInFlight)
	}
	for name, d := range map[string]duration{"wait": s.Wait, "timeout": s.Timeout} {
		if d < 0 || time.Duration(d) > maxShopWait {
			bad("shop."+name, "is %v, allowed is 1ms to %v", time.Duration(d), maxShopWait)
		}
	}
	for name, r := range map[string]rateConfig{"buyer_rate": s.BuyerRate, "address_rate": s.AddressRate} {
		if r.PerMinute < 0 || r.PerMinute > maxPerMinute {
			bad("shop."+name+".per_minute", "is %d, allowed is 1 to %d, or 0 for any number", r.PerMinute, maxPerMinute)
		}
		if r.Burst < 0 || r.Burst > maxPerMinute {
			bad("shop."+name+".burst", "is %d, allowed is 1 to %d", r.Burst, maxPerMinute)
		}
	}
	for i, text := range s.TrustedProxies {
		if _, err := proxyPrefix(text); err != nil {
			bad(fmt.Sprintf("shop.trusted_proxies[%d]", i), "is %s, allowed is an IP address or a range such as 10.0.0.0/8, of IPv4 addresses in that notation", shorten(text))
		}
	}
	if len(s.MetricsProducts) > stock.MaxFigures {
		bad("shop.metrics_products", "are %d, allowed are up to %d", len(s.MetricsProducts), stock.MaxFigures)
	}
}
