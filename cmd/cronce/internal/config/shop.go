package config

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/cmd/cronce/internal/strictyaml"
	"github.com/cronce/cronce/jobs/stock"
	stockhttp "github.com/cronce/cronce/jobs/stock/http"
)

// The commands and jobs that may rebuild a shelf that has lost data: shop restore alone (the
// default), or settleOrders too.
const (
	restoreManual = "manual"
	RestoreAuto   = "auto"
)

// The stores that must have an order before it is acknowledged: Redis (the default), or also the
// database.
const (
	durabilityReserved = "reserved"
	DurabilitySettled  = "settled"
)

// shopFaults checks settings that only the shop has. The sale refuses the others when it is opened.
func (c *Config) shopFaults(bad func(path, format string, args ...any)) {
	s := c.Shop
	if s == nil {
		return
	}
	if s.Address == "" {
		s.Address = defaultShop
	}
	c.listenFaults(bad, "shop", HTTP{Address: s.Address, AllowRemote: s.AllowRemote})
	for i, host := range s.Hosts {
		if host == "" || strings.ContainsAny(host, ":/@ []") {
			bad(fmt.Sprintf("shop.hosts[%d]", i), "is %s, must be a name without a port, or * for any", strictyaml.Quote(host))
		}
	}
	s.gateFaults(bad)
	if s.Batch < 0 || s.Batch > stock.MaxBatch {
		bad("shop.batch", "is %d, must be 1 to %d", s.Batch, stock.MaxBatch)
	}
	if !slices.Contains([]string{"", restoreManual, RestoreAuto}, s.Restore) {
		bad("shop.restore", "is %s, must be manual or auto", strictyaml.Quote(s.Restore))
	}
	if !slices.Contains([]string{"", durabilityReserved, DurabilitySettled}, s.Durability) {
		bad("shop.durability", "is %s, must be reserved or settled", strictyaml.Quote(s.Durability))
	}
	if d := s.Database; d.File != "" && (d.DSNEnv != "" || d.DSNFile != "") {
		bad("shop.database.file", "and a DSN are both set, give one of them")
	}
}

// Bounds of the shop's settings.
const (
	maxInFlight  = 4096
	maxShopWait  = 5 * time.Second
	maxPerMinute = 1_000_000
)

// Rate is the section of a rate.
type Rate struct {
	PerMinute int `yaml:"per_minute"`
	Burst     int `yaml:"burst"`
}

func (r Rate) rate() stockhttp.Rate { return stockhttp.Rate{PerMinute: r.PerMinute, Burst: r.Burst} }

// Gate returns the options that limit the requests to a shop.
func (s *Shop) Gate() stockhttp.Options {
	o := stockhttp.Options{InFlight: s.InFlight, Wait: time.Duration(s.Wait), Timeout: time.Duration(s.Timeout),
		BuyerRate: s.BuyerRate.rate(), AddressRate: s.AddressRate.rate()}
	for _, text := range s.TrustedProxies {
		if p, err := proxyPrefix(text); err == nil { // gateFaults has refused invalid ones
			o.TrustedProxies = append(o.TrustedProxies, p)
		}
	}
	return o
}

// proxyPrefix parses an address or a range of addresses.
func proxyPrefix(text string) (netip.Prefix, error) {
	if at, err := netip.ParseAddr(text); err == nil {
		at = at.Unmap().WithZone("")
		return netip.PrefixFrom(at, at.BitLen()), nil
	}
	p, err := netip.ParsePrefix(text)
	if err == nil && p.Addr().Is4In6() && p.Bits() < 96 {
		err = errors.New("a range of IPv4-mapped addresses has 96 bits or more") // a shorter one would match no address
	}
	return p.Masked(), err
}

// gateFaults checks the settings of Gate.
func (s *Shop) gateFaults(bad func(path, format string, args ...any)) {
	if s.InFlight < 0 || s.InFlight > maxInFlight {
		bad("shop.in_flight", "is %d, must be 1 to %d", s.InFlight, maxInFlight)
	}
	for name, d := range map[string]duration{"wait": s.Wait, "timeout": s.Timeout} {
		if d < 0 || time.Duration(d) > maxShopWait {
			bad("shop."+name, "is %v, must be 1ms to %v", time.Duration(d), maxShopWait)
		}
	}
	for name, r := range map[string]Rate{"buyer_rate": s.BuyerRate, "address_rate": s.AddressRate} {
		if r.PerMinute < 0 || r.PerMinute > maxPerMinute {
			bad("shop."+name+".per_minute", "is %d, must be 1 to %d, or 0 for any number", r.PerMinute, maxPerMinute)
		}
		if r.Burst < 0 || r.Burst > maxPerMinute {
			bad("shop."+name+".burst", "is %d, must be 1 to %d", r.Burst, maxPerMinute)
		}
	}
	for i, text := range s.TrustedProxies {
		if _, err := proxyPrefix(text); err != nil {
			bad(fmt.Sprintf("shop.trusted_proxies[%d]", i), "is %s, must be an IP address or a range such as 10.0.0.0/8, of IPv4 addresses in that notation", strictyaml.Quote(text))
		}
	}
	if len(s.MetricsProducts) > stock.MaxFigures {
		bad("shop.metrics_products", "are %d, must be up to %d", len(s.MetricsProducts), stock.MaxFigures)
	}
}

// ServedAs returns the host names that a shop accepts: the configured ones, and the host of its
// address.
func (s *Shop) ServedAs() []string {
	host, _, _ := net.SplitHostPort(cmp.Or(s.Address, defaultShop))
	return append(slices.Clone(s.Hosts), host)
}
