package redislock_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/lock/series"
)

// Why a server refuses, or cannot be reached, is said in words that name no address, no
// user and no key.
func TestExplain(t *testing.T) {
	t.Parallel()
	port := freePort(t)
	cert, key := certificate(t)
	s := redisserver.Start(t, "--tls-port", port, "--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", cert, "--tls-auth-clients", "no")
	admin := client(t, s.Addr())
	mutual := freePort(t)
	redisserver.Start(t, "--tls-port", mutual, "--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", cert, "--tls-auth-clients", "yes")
	secured := redisserver.Start(t, "--requirepass", "s3cr3t")
	full := redisserver.Start(t, "--maxmemory", "1")
	must(t, admin.ACLSetUser(t.Context(), "reader", "on", ">pw", "~*", "+get").Err())
	foul := redislock.Options{Namespace: "foul"}
	for name, test := range map[string]struct {
		addr   string
		change func(*redis.UniversalOptions)
		want   string
	}{
		"wrong password":      {s.Addr(), func(o *redis.UniversalOptions) { o.Username, o.Password = "reader", "guess" }, "password is wrong"},
		"no password":         {secured.Addr(), func(*redis.UniversalOptions) {}, "asks for a password"},
		"may not":             {s.Addr(), func(o *redis.UniversalOptions) { o.Username, o.Password = "reader", "pw" }, "has no permission for the request (docs/redis.md has the rules"},
		"at maxmemory":        {full.Addr(), func(*redis.UniversalOptions) {}, "maxmemory"},
		"a TLS port in plain": {"127.0.0.1:" + port, func(*redis.UniversalOptions) {}, "expects TLS"},
		"TLS to a plain port": {s.Addr(), func(o *redis.UniversalOptions) {
			o.TLSConfig, o.ReadTimeout, o.DialTimeout = &tls.Config{InsecureSkipVerify: true}, 300*time.Millisecond, 300*time.Millisecond
		}, "does not speak TLS with a client that does"},
		"an unknown certificate": {"127.0.0.1:" + port, func(o *redis.UniversalOptions) { o.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12} }, "not trusted"},
		"a certificate whose time is over": {"127.0.0.1:" + port, func(o *redis.UniversalOptions) {
			o.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, Time: func() time.Time { return time.Now().AddDate(100, 0, 0) }}
		}, "has expired"},
		"no client certificate": {"127.0.0.1:" + mutual, func(o *redis.UniversalOptions) {
			o.TLSConfig, o.ReadTimeout, o.DialTimeout = &tls.Config{InsecureSkipVerify: true}, time.Minute, time.Minute
		}, "certificate"},
		"nothing there": {"127.0.0.1:" + freePort(t), func(*redis.UniversalOptions) {}, "refuses connections"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDriver(t, client(t, test.addr, test.change), foul)
			err := d.Open(t.Context(), []series.OpenRequest{{Key: "job", Node: "n"}})[0].Err
			if err == nil {
				_, err = d.Acquire(t.Context(), driver.Acquisition{Key: "key", Owner: "a/1", TTL: time.Second})
			}
			_, unfit := d.CheckStore(t.Context()) // the first request of a node
			if text := d.Explain(unfit); !strings.Contains(text, test.want) {
				t.Errorf("at the start %v is explained as %q, want %q", unfit, text, test.want)
			}
			got := d.Explain(err)
			if err == nil || !strings.Contains(got, test.want) {
				t.Fatalf("%v is explained as %q, want %q", err, got, test.want)
			}
			for _, secret := range []string{"127.0.0.1", "reader", "guess", "s3cr3t"} {
				if strings.Contains(got, secret) {
					t.Errorf("%q contains %q", got, secret)
				}
			}
		})
	}
}

// The explanation says that the server expects TLS, or may require a certificate, also for a client
// of a Cluster. A client without a free connection gets no answer in time.
func TestExplainClients(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cluster, tls bool
		err          error
		want         string
	}{
		{false, false, io.EOF, "expects TLS"},
		{true, false, io.EOF, "expects TLS"},
		{false, false, redis.ErrPoolTimeout, "does not answer in time"},
		{false, true, redis.ErrPoolTimeout, "does not speak TLS"},
		{true, true, redis.ErrPoolTimeout, "does not speak TLS"},
		{false, true, syscall.ECONNRESET, "certificate"},
		{true, true, syscall.EPIPE, "certificate"},
	} {
		o := &redis.UniversalOptions{Addrs: []string{"127.0.0.1:1"}, IsClusterMode: c.cluster}
		if c.tls {
			o.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12}
		}
		cl := redis.NewUniversalClient(o)
		defer cl.Close()
		if got := newDriver(t, cl, redislock.Options{Namespace: "ns"}).Explain(c.err); !strings.Contains(got, c.want) {
			t.Errorf("Cluster %v, TLS %v: %v is explained as %q, want %q", c.cluster, c.tls, c.err, got, c.want)
		}
	}
}

// A user without the right to write is refused, outside of a script and inside of one. A
// server that is not there, or takes no writes now, refuses nothing.
func TestRefuses(t *testing.T) {
	t.Parallel()
	s := redisserver.Start(t)
	admin := client(t, s.Addr())
	as := func(user string, rules ...string) *redislock.Driver {
		t.Helper()
		must(t, admin.ACLSetUser(t.Context(), user, append([]string{"on", ">pw"}, rules...)...).Err())
		return newDriver(t, client(t, s.Addr(), func(o *redis.UniversalOptions) { o.Username, o.Password = user, "pw" }), redislock.Options{Namespace: "ns"})
	}
	for name, d := range map[string]*redislock.Driver{
		"no script":          as("reader", "~*", "&*", "+get"),
		"no keys":            as("foreign", "~other:*", "&*", "+@all"),
		"no write in script": as("looker", "~*", "&*", "+@all", "-hset", "-hdel", "-set"),
	} {
		if err := d.Open(t.Context(), []series.OpenRequest{{Key: "job", Node: "n"}})[0].Err; err == nil || !d.Refuses(err) || errors.Is(err, driver.ErrUnreadable) || !strings.Contains(d.Explain(err), "has no permission") {
			t.Errorf("%s: %v, refused: %v, explained as %q", name, err, d.Refuses(err), d.Explain(err))
		}
	}
	nowhere := newDriver(t, client(t, "127.0.0.1:"+freePort(t)), redislock.Options{Namespace: "ns"})
	full := newDriver(t, client(t, redisserver.Start(t, "--maxmemory", "1").Addr()), redislock.Options{Namespace: "ns"})
	for _, d := range []*redislock.Driver{nowhere, full} {
		if _, err := d.Acquire(t.Context(), driver.Acquisition{Key: "key", Owner: "a/1", TTL: time.Second}); err == nil || d.Refuses(err) {
			t.Errorf("%v is taken for a refusal", err)
		}
	}
	if nowhere.Refuses(nil) {
		t.Error("no error is taken for a refusal")
	}
}

// A key of another type is the fault of one job: the answer says that the store was
// there, and the others of the request are answered.
func TestForeignKeyIsOfOneJob(t *testing.T) {
	t.Parallel()
	admin := client(t, redisserver.Start(t).Addr())
	d := newDriver(t, admin, redislock.Options{Namespace: "ns"})
	os := []series.OpenRequest{{Key: "good", Node: "n"}, {Key: "foul", Node: "n"}, {Key: "newer", Node: "n"}}
	must(t, admin.Set(t.Context(), "ns:v1:{ns.0}:s:foul", "x", 0).Err())
	d.Open(t.Context(), os)
	must(t, admin.HSet(t.Context(), "ns:v1:{ns.0}:s:newer", "r", ";a run of another format").Err())
	for i, s := range d.Open(t.Context(), os) {
		switch {
		case i == 0 && s.Err != nil:
			t.Errorf("the others: %v", s.Err)
		case i == 1 && (!errors.Is(s.Err, driver.ErrUnreadable) || d.Explain(s.Err) == ""):
			t.Errorf("%s: %v, explained as %q", s.Key, s.Err, d.Explain(s.Err))
		case i == 2 && !errors.Is(s.Err, driver.ErrUnreadable):
			t.Errorf("%s: %v", s.Key, s.Err)
		}
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// certificate writes one that signs itself, and its key.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	public, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	must(t, err)
	secret, err := x509.MarshalECPrivateKey(private)
	must(t, err)
	cert, key = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	must(t, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: public}), 0o600))
	must(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret}), 0o600))
	return cert, key
}
