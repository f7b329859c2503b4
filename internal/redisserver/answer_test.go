package redisserver

import "testing"

// Another server that has the port is not mistaken for this one.
func TestAnswersForItself(t *testing.T) {
	s := Start(t)
	if !answers(s.Port(), s.Pid(), s.Log()) {
		t.Error("the server does not answer")
	}
	if answers(s.Port(), s.Pid()+1, s.Log()) {
		t.Error("the running server was taken for another process")
	}
}
