package control

import "testing"

// An operation is parsed as it was printed. Any other text is a name that the caller has made up,
// which contains no state.
func TestReadOperation(t *testing.T) {
	for text, carries := range map[string]bool{
		operation{newOp(), 7, 1000}.String(): true, "x.0.0": true, "x.-1.0": false, "x.0.-1": false, "x.0": false, "x.0.0.0": false, "x.y.0": false, "x.0.y": false, "deploy-7": false, "": false,
	} {
		if o, is := readOp(text); is != carries || is && o.String() != text {
			t.Errorf("%q is read as %+v, %v", text, o, is)
		}
	}
}
