package readme

import (
	"encoding/xml"
	"image/png"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

var (
	fenced  = regexp.MustCompile("(?ms)^ *```.*?^ *```$") // a block of code
	quoted  = regexp.MustCompile("`[^`\n]*`")             // code in a line
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`^#{1,6} +(.*?) *$`)
)

// targets returns the targets of a page's links, including pictures; blocks of code have no links.
func targets(text string) (all []string) {
	for _, m := range link.FindAllStringSubmatch(quoted.ReplaceAllString(fenced.ReplaceAllString(text, ""), ""), -1) {
		all = append(all, m[1])
	}
	return all
}

// Every file, folder and heading to which the documentation links exists.
func TestLinksExist(t *testing.T) {
	links := 0
	for _, page := range append(pages(t), "CHANGELOG.md") {
		for _, target := range targets(read(t, page)) {
			if strings.Contains(target, "://") {
				continue
			}
			links++
			file, fragment, _ := strings.Cut(target, "#")
			to := page
			if file != "" {
				to = path.Join(path.Dir(page), file)
			}
			if _, err := os.Stat(filepath.Join(root, to)); err != nil {
				t.Errorf("%s links to %s: %v", page, target, err)
			} else if fragment != "" && !anchors(read(t, to))[fragment] {
				t.Errorf("%s links to %s: no such heading", page, target)
			}
		}
	}
	if links < 50 {
		t.Errorf("found %d links: the pages have more", links)
	}
}

var picture = regexp.MustCompile(`!\[([^\]]*)\]\(([^)\s]+)\)`)

// Every picture has a text alternative. A drawing has a title as well, and a screenshot can be
// decoded.
func TestPicturesHaveWords(t *testing.T) {
	found := 0
	for _, page := range pages(t) {
		for _, m := range picture.FindAllStringSubmatch(read(t, page), -1) {
			found++
			if len(m[1]) < 40 {
				t.Errorf("%s: the picture %s has the words %q", page, m[2], m[1])
			}
			file := read(t, path.Join(path.Dir(page), m[2]))
			if path.Ext(m[2]) == ".png" {
				if _, err := png.Decode(strings.NewReader(file)); err != nil {
					t.Errorf("%s: the picture %s: %v", page, m[2], err)
				}
				continue
			}
			var svg struct {
				Title string `xml:"title"`
			}
			if err := xml.Unmarshal([]byte(file), &svg); err != nil || svg.Title == "" {
				t.Errorf("%s: the picture %s has the title %q: %v", page, m[2], svg.Title, err)
			}
		}
	}
	if found < 4 {
		t.Errorf("found %d pictures, want 4", found)
	}
}

// anchors returns the fragments by which GitHub finds the headings of a page: lower case, hyphens
// instead of spaces, and otherwise only letters, digits, hyphens and underscores. If a heading
// occurs twice, the second has the suffix -1.
func anchors(text string) map[string]bool {
	all := map[string]bool{}
	for line := range strings.Lines(fenced.ReplaceAllString(text, "")) {
		m := heading.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if m == nil {
			continue
		}
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, m[1])
		if all[name] {
			name += "-1"
		}
		all[name] = true
	}
	return all
}

func TestAnchors(t *testing.T) {
	got := anchors("# A `b` c: d?\n\n## Coming from robfig/cron\n```sh\n# no heading\n```\n## Twice\n## Twice\n####### too deep\n#none\n")
	for _, want := range []string{"a-b-c-d", "coming-from-robfigcron", "twice", "twice-1"} {
		if !got[want] {
			t.Errorf("no anchor %q in %v", want, got)
		}
	}
	if len(got) != 4 {
		t.Errorf("anchors %v, want 4", got)
	}
}
