package zkserver

import "testing"

// Another server that has the port is not mistaken for this one.
func TestAnswersForItself(t *testing.T) {
	t.Parallel()
	s := Start(t)
	if !answers(s.Port(), s.Dir()) {
		t.Error("the server does not answer")
	}
	if answers(s.Port(), t.TempDir()) {
		t.Error("the running server was taken for another one")
	}
}
