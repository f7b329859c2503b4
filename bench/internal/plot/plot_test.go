package plot

import (
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

// A plot is XML, names its lines, and has round values on its axes.
func TestSVG(t *testing.T) {
	text := SVG("Redis & nodes", "nodes", "ms", []Line{{"cronce", []float64{3, 50, 1000}, []float64{12, 15, 30}}, {"a < b", []float64{3, 50}, []float64{11, 90}}})
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for _, part := range []string{">Redis &amp; nodes<", ">cronce<", ">a &lt; b<", ">10<", ">100<", ">1,000<", ">20<"} {
		if !strings.Contains(text, part) {
			t.Errorf("the plot has no %q", part)
		}
	}
}

// The ends of an axis are at 0 and 1, and a value that is half of the digits between them in the middle.
func TestAxis(t *testing.T) {
	s := axis([]Line{{X: []float64{10, 1000}}, {X: []float64{100}}}, func(l Line) []float64 { return l.X })
	if s.place(10) != 0 || s.place(1000) != 1 || s.place(100) != 0.5 || !slices.Equal(s.ticks(), []float64{10, 20, 50, 100, 200, 500, 1000}) {
		t.Errorf("axis %+v with %v", s, s.ticks())
	}
	if one := axis([]Line{{X: []float64{4}}}, func(l Line) []float64 { return l.X }); one.place(4) != 0.5 {
		t.Errorf("one value is at %v", one.place(4))
	}
}
