package redislock_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/cronce/cronce/lock/redislock"
)

// Options of both kinds are hardened alike; options that were set stay.
func TestHarden(t *testing.T) {
	t.Parallel()
	one := redis.Options{Addr: "a", ReadTimeout: time.Minute}
	all := redis.UniversalOptions{Addrs: []string{"a"}, ReadTimeout: time.Minute}
	redislock.Harden(&one)
	redislock.Harden(&all)
	off := &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	want := redis.Options{Addr: "a", MaxRetries: -1, ContextTimeoutEnabled: true, ReadTimeout: time.Minute, WriteTimeout: 2 * time.Second,
		DialTimeout: 2 * time.Second, PoolTimeout: 2 * time.Second, DialerRetries: 1, MaintNotificationsConfig: off}
	if one.OnConnect == nil || all.OnConnect == nil {
		t.Error("a new connection does not begin with a PING")
	}
	one.OnConnect = nil
	if !reflect.DeepEqual(one, want) {
		t.Errorf("got %+v, want %+v", one, want)
	}
	if all.MaxRetries != -1 || !all.ContextTimeoutEnabled || all.PoolTimeout != 2*time.Second || all.ReadTimeout != time.Minute || !reflect.DeepEqual(all.MaintNotificationsConfig, off) {
		t.Errorf("got %+v", all)
	}
	asked := redis.Options{MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeEnabled}}
	if redislock.Harden(&asked); asked.MaintNotificationsConfig.Mode != maintnotifications.ModeEnabled {
		t.Errorf("maintenance notifications that were asked for are %v", asked.MaintNotificationsConfig.Mode)
	}
}
