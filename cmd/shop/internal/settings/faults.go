package settings

import (
	"fmt"
	"net"
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
	f.zeroFaults(bad)
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
	maxInFlight = 4096
	maxShopWait = 5 * time.Second
)

// Gate returns the options that limit the requests to a shop.
func (s *Shop) Gate() stockhttp.Options {
	return stockhttp.Options{InFlight: Value(s.InFlight), Wait: time.Duration(Value(s.Wait)), Timeout: time.Duration(Value(s.Timeout))}
}

// gateFaults checks the settings of Gate.
func (s *Shop) gateFaults(bad func(path, format string, args ...any)) {
	if n := s.InFlight; n != nil && (*n < 1 || *n > maxInFlight) {
		bad("shop.in_flight", "is %d, must be 1 to %d", *n, maxInFlight)
	}
	for name, set := range map[string]*config.Duration{"wait": s.Wait, "timeout": s.Timeout} {
		if d := time.Duration(Value(set)); set != nil && (d < time.Millisecond || d > maxShopWait) {
			bad("shop."+name, "is %v, must be 1ms to %v", d, maxShopWait)
		}
	}
}

// zeroFaults refuses zeros that the libraries would take for their defaults. They check larger values.
func (f *File) zeroFaults(bad func(path, format string, args ...any)) {
	s := &f.Shop
	durations := map[string]*config.Duration{"shop.hold": s.Hold, "shop.retention": s.Retention, "shop.replica_timeout": s.ReplicaTimeout}
	if s.Events != nil {
		durations["shop.events.retention"] = s.Events.Retention
	}
	if w := s.webhook(); w != nil {
		durations["shop.events.webhook.timeout"] = w.Timeout
		if n := w.Concurrency; n != nil && *n == 0 {
			bad("shop.events.webhook.concurrency", "is 0, must be 1 or more; leave the key out for the default")
		}
	}
	if f.SMS != nil {
		durations["sms.timeout"], durations["sms.retention"] = f.SMS.Timeout, f.SMS.Retention
	}
	for path, set := range durations {
		if d := time.Duration(Value(set)); set != nil && d <= 0 {
			bad(path, "is %v, must be more than 0; leave the key out for the default", d)
		}
	}
}

// ServedAs returns the host names that a shop accepts: the configured ones, and the host of its
// address.
func (s *Shop) ServedAs() []string {
	host, _, _ := net.SplitHostPort(s.Address)
	return append(slices.Clone(s.Hosts), host)
}
