package settings

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/strictyaml"
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

// faults returns the faults of the sections, as far as they are known without their libraries.
func (f *File) faults() (errs []error) {
	bad := func(path, format string, args ...any) { errs = append(errs, f.Fault(path, format, args...)) }
	f.foreignFaults(bad)
	f.secretFaults(bad)
	s := &f.Shop
	f.ListenFaults(bad, "shop", config.HTTP{Address: s.Address, AllowRemote: s.AllowRemote})
	for i, host := range s.Hosts {
		if host == "" || strings.ContainsAny(host, ":/@ []") {
			bad(fmt.Sprintf("shop.hosts[%d]", i), "is %s, must be a name without a port, or * for any", strictyaml.Quote(host))
		}
	}
	s.gateFaults(bad)
	if s.Batch < 0 || s.Batch > maxBatch {
		bad("shop.batch", "is %d, must be 1 to %d", s.Batch, maxBatch)
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
	f.receiptsFaults(bad)
	return errs
}

// foreignFaults refuses sections that only a node of cronce has.
func (f *File) foreignFaults(bad func(path, format string, args ...any)) {
	for name, set := range map[string]bool{"jobs": len(f.Jobs) > 0, "include": len(f.Include) > 0, "ops": f.Ops != nil,
		"defaults": f.Defaults != config.Policies{}} {
		if set {
			bad(name, "is not for a shop, which has jobs of its own: run others with cronce node")
		}
	}
}

// secretFaults refuses a secret with two sources.
func (f *File) secretFaults(bad func(path, format string, args ...any)) {
	s := &f.Shop
	type source struct{ path, file, env string }
	all := []source{{"shop.database.dsn", s.Database.DSNFile, s.Database.DSNEnv}}
	for _, t := range s.tokenSources() {
		all = append(all, source{t.path, t.file, t.env})
	}
	if w := s.webhook(); w != nil {
		all = append(all, source{"shop.events.webhook.secret", w.SecretFile, w.SecretEnv}, source{"shop.events.webhook.old_secret", w.OldSecretFile, w.OldSecretEnv})
	}
	if f.SMS != nil {
		all = append(all, source{"sms.token", f.SMS.TokenFile, f.SMS.TokenEnv})
		if r := f.SMS.Receipts; r != nil {
			all = append(all, source{"sms.receipts.token", r.TokenFile, r.TokenEnv})
		}
	}
	for _, s := range all {
		if s.file != "" && s.env != "" {
			bad(s.path+"_env", "and %s_file are both set, give one of them", s.path)
		}
	}
}

// receiptsFaults checks the section. Without a token no receipts are served.
func (f *File) receiptsFaults(bad func(path, format string, args ...any)) {
	if f.SMS == nil || f.SMS.Receipts == nil {
		return
	}
	r := f.SMS.Receipts
	if r.Address == "" {
		bad("sms.receipts.address", "is missing, must be host:port, such as 127.0.0.1:8082, or off")
	}
	f.ListenFaults(bad, "sms.receipts", config.HTTP{Address: r.Address, AllowRemote: r.AllowRemote})
	if r.TokenEnv == "" && r.TokenFile == "" {
		bad("sms.receipts.token_env", "and token_file are both missing, set one of them: the token proves that a receipt is the gateway's")
	}
}

// webhook returns the section of the webhook; nil: no events are posted.
func (s *Shop) webhook() *Webhook {
	if s.Events == nil {
		return nil
	}
	return s.Events.Webhook
}

// Webhook returns the section of the webhook; nil: no events are posted.
func (f *File) Webhook() *Webhook { return f.Shop.webhook() }

// Bounds of the shop's settings.
const (
	maxInFlight  = 4096
	maxShopWait  = 5 * time.Second
	maxPerMinute = 1_000_000
	maxBatch     = 10_000
)

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
	for name, d := range map[string]config.Duration{"wait": s.Wait, "timeout": s.Timeout} {
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
	if len(s.MetricsProducts) > 200 {
		bad("shop.metrics_products", "are %d, must be up to %d", len(s.MetricsProducts), 200)
	}
}

// ServedAs returns the host names that a shop accepts: the configured ones, and the host of its
// address.
func (s *Shop) ServedAs() []string {
	host, _, _ := net.SplitHostPort(cmp.Or(s.Address, defaultAddress))
	return append(slices.Clone(s.Hosts), host)
}
