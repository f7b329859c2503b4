package locktest

import (
	"errors"

	"github.com/cronce/cronce/lock/driver"
)

var inspectTests = []test{
	{"a free key has no owner", inspectFree},
	{"an inspection of a held key returns its owner, fence and time left", inspectHeld},
	{"an expired key is free", inspectExpired},
	{"a bad key is refused", inspectArguments},
}

func inspectFree(s *fixture) { equal(s, "the key", s.inspect("key"), driver.KeyState{}) }

func inspectHeld(s *fixture) {
	g, h := s.acquire(driver.Acquisition{Key: "a {key}", Owner: "who?/1", TTL: long})
	at := s.inspect("a {key}")
	s.within("left", at.Left, long)
	at.Left = 0
	equal(s, "the key", at, driver.KeyState{Owner: h.Owner, Fence: g.Fence})
}

func inspectExpired(s *fixture) {
	s.acquire(s.acquisition(short))
	s.env.Wait(short + slack)
	equal(s, "the key", s.inspect("key"), driver.KeyState{})
}

func inspectArguments(s *fixture) {
	_, err := s.front().Inspect(s.ctx, "")
	if e, ok := errors.AsType[*driver.ArgumentError](err); !ok || e.Argument != "key" {
		s.Fatalf("the error is %v, want one that names the key", err)
	}
}
