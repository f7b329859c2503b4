package zkserver

import "testing"

// Another server has the port: it is not taken for one's own.
func TestAnswersForItself(t *testing.T) {
	s := Start(t)
	if !answers(s.Port(), s.Dir()) {
		t.Error("the server does not answer")
	}
	if answers(s.Port(), t.TempDir()) {
		t.Error("the running server was taken for another one")
	}
}
