//go:build unix

package browser_test

import (
	"bytes"
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// marks returns the marks of the legend: their words, and their places on the page.
const marks = `JSON.stringify([...document.querySelectorAll(".legend li")].map((li) => {
	const box = li.querySelector("svg").getBoundingClientRect();
	return {word: li.textContent.trim(), x: box.x + scrollX, y: box.y + scrollY, width: box.width, height: box.height};
}))`

// alike is the share of their area that two marks may have in common at most. A disc of the same size as a square has 0.79.
const alike = 0.85

// A mark is one of the legend, and its place on the page.
type mark struct {
	Word                string
	X, Y, Width, Height float64
}

// shapes checks that a person who sees no colours, or not all of them, can tell each mark of the legend from every other one.
func (b *browser) shapes(t *testing.T) {
	t.Helper()
	for _, sight := range []emulation.SetEmulatedVisionDeficiencyType{"achromatopsia", "deuteranopia"} {
		b.sight(t, sight)
		var words []string
		var inks [][]float64
		for i := range b.legend(t) {
			m, picture := b.picture(t, i)
			drawn := ink(picture)
			for k := range inks {
				if share := overlap(drawn, inks[k]); share > alike {
					t.Errorf("%s: the marks of %s and %s have %.2f of their area in common, must have at most %.2f", sight, m.Word, words[k], share, alike)
				}
			}
			words, inks = append(words, m.Word), append(inks, drawn)
		}
	}
	b.sight(t, "none")
}

func (b *browser) legend(t *testing.T) (all []mark) {
	t.Helper()
	if err := json.Unmarshal([]byte(evaluated(t, b, chromedp.Evaluate[string](marks))), &all); err != nil || len(all) < 10 {
		t.Fatalf("%d marks: %v", len(all), err)
	}
	return all
}

// picture returns a mark and its picture. The page is live, so that the legend may move while the picture is taken: it is then taken
// once more.
func (b *browser) picture(t *testing.T, i int) (m mark, picture image.Image) {
	t.Helper()
	eventually(t, "the legend stands still", func() bool {
		m = b.legend(t)[i]
		clip := page.Viewport{X: m.X, Y: m.Y, Width: m.Width, Height: m.Height, Scale: 4}
		beyond := true
		shot, err := chromedp.Call(b.ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{Clip: &clip, CaptureBeyondViewport: &beyond})
		if err != nil {
			t.Fatal(err)
		}
		if picture, err = png.Decode(bytes.NewReader(shot.Data)); err != nil {
			t.Fatal(err)
		}
		return b.legend(t)[i] == m
	})
	return m, picture
}

func (b *browser) sight(t *testing.T, sight emulation.SetEmulatedVisionDeficiencyType) {
	t.Helper()
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedVisionDeficiency, emulation.SetEmulatedVisionDeficiencyParams{Type: sight}); err != nil {
		t.Fatal(err)
	}
}

// ink returns how much each pixel differs in brightness from the background, which the first pixel has: 1 where it differs most.
func ink(picture image.Image) []float64 {
	size := picture.Bounds()
	grey := func(x, y int) float64 { return float64(color.Gray16Model.Convert(picture.At(x, y)).(color.Gray16).Y) }
	background, most := grey(size.Min.X, size.Min.Y), 1.0
	all := make([]float64, 0, size.Dx()*size.Dy())
	for y := size.Min.Y; y < size.Max.Y; y++ {
		for x := size.Min.X; x < size.Max.X; x++ {
			d := max(grey(x, y)-background, background-grey(x, y))
			all, most = append(all, d), max(most, d)
		}
	}
	for i := range all {
		all[i] /= most
	}
	return all
}

// overlap returns the ink that two marks have in common, as a share of the ink that at least one of them has.
func overlap(a, b []float64) float64 {
	both, either := 0.0, 0.0
	for i := range min(len(a), len(b)) {
		both += min(a[i], b[i])
		either += max(a[i], b[i])
	}
	return both / either
}
