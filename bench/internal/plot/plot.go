// Package plot draws lines on logarithmic axes as SVG, for the pages of the documentation.
package plot

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// A Line is a measured quantity over x. Both are positive.
type Line struct {
	Name string
	X, Y []float64
}

// The size of a plot, and of its margins.
const (
	width, height = 640, 360
	left, right   = 64, 150
	top, bottom   = 36, 48
)

var colors = []string{"#1f6feb", "#d1242f", "#8250df", "#9a6700", "#57606a"}

// SVG returns a plot with a title and names of its axes. Each line has its name at its end.
func SVG(title, x, y string, lines []Line) string {
	across, up := axis(lines, func(l Line) []float64 { return l.X }), axis(lines, func(l Line) []float64 { return l.Y })
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" font-family="sans-serif" font-size="12" fill="#57606a"><title>%s</title>`+"\n", width, height, html.EscapeString(title))
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#ffffff"/><text x="%d" y="20" font-size="14" fill="#1f2328">%s</text>`+"\n", width, height, left, html.EscapeString(title))
	for _, v := range across.ticks() {
		at := left + across.place(v)*(width-left-right)
		fmt.Fprintf(&b, `<path d="M%.1f %dV%d" stroke="#d0d7de"/><text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", at, top, height-bottom, at, height-bottom+16, number(v))
	}
	for _, v := range up.ticks() {
		at := height - bottom - up.place(v)*(height-top-bottom)
		fmt.Fprintf(&b, `<path d="M%d %.1fH%d" stroke="#d0d7de"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n", left, at, width-right, left-6, at+4, number(v))
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="middle">%s</text><text transform="translate(14 %d) rotate(-90)" text-anchor="middle">%s</text>`+"\n",
		(left+width-right)/2, height-10, html.EscapeString(x), (top+height-bottom)/2, html.EscapeString(y))
	for i, l := range lines {
		var points []string
		var px, py float64
		for k := range l.X {
			px, py = left+across.place(l.X[k])*(width-left-right), height-bottom-up.place(l.Y[k])*(height-top-bottom)
			points = append(points, fmt.Sprintf("%.1f,%.1f", px, py))
			fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`, px, py, colors[i%len(colors)])
		}
		fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/><text x="%.1f" y="%.1f" fill="%s">%s</text>`+"\n",
			strings.Join(points, " "), colors[i%len(colors)], px+8, py+4, colors[i%len(colors)], html.EscapeString(l.Name))
	}
	return b.String() + "</svg>\n"
}

// A span is the range of a logarithmic axis.
type span struct{ low, high float64 }

// axis returns the range of the values of all lines.
func axis(lines []Line, of func(Line) []float64) span {
	s := span{math.Inf(1), math.Inf(-1)}
	for _, l := range lines {
		for _, v := range of(l) {
			s.low, s.high = min(s.low, v), max(s.high, v)
		}
	}
	if s.low >= s.high { // one value
		s.low, s.high = s.low/2, s.low*2
	}
	return s
}

// place returns the place of a value on the axis, from 0 to 1.
func (s span) place(v float64) float64 { return math.Log(v/s.low) / math.Log(s.high/s.low) }

// ticks returns the round values on the axis: 1, 2 and 5 times powers of ten, or the powers alone if those are many.
func (s span) ticks() (all []float64) {
	steps := []float64{1, 2, 5}
	if s.high/s.low > 200 {
		steps = steps[:1]
	}
	for power := math.Floor(math.Log10(s.low)); power <= math.Log10(s.high); power++ {
		for _, step := range steps {
			if v := step * math.Pow(10, power); v >= s.low && v <= s.high {
				all = append(all, v)
			}
		}
	}
	return all
}

// number formats a value of an axis.
func number(v float64) string {
	if v >= 1000 {
		return fmt.Sprintf("%g,000", v/1000)
	}
	return fmt.Sprintf("%.3g", v)
}
