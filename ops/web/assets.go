package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html/template"
	"io/fs"
	"maps"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed assets
var assetFiles embed.FS

//go:embed templates
var templateFiles embed.FS

// A pages has the templates, and the assets under names that contain their hashes.
type pages struct {
	templates *template.Template
	assets    map[string][]byte
}

// newPages reads the embedded files.
func newPages() (*pages, error) {
	p := &pages{assets: map[string][]byte{}}
	hashed := map[string]string{}
	err := fs.WalkDir(assetFiles, "assets", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := assetFiles.ReadFile(name)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(data)
		base, ext := strings.TrimSuffix(path.Base(name), path.Ext(name)), path.Ext(name)
		hashed[path.Base(name)] = base + "." + hex.EncodeToString(sum[:6]) + ext
		p.assets[hashed[path.Base(name)]] = data
		return nil
	})
	if err != nil {
		return nil, err
	}
	functions := template.FuncMap{"asset": func(name string) string { return "/assets/" + hashed[name] }}
	maps.Copy(functions, shows)
	p.templates, err = template.New("").Funcs(functions).ParseFS(templateFiles, "templates/*.html")
	return p, err
}

// asset serves a file whose name contains its hash, so that it never changes.
func (h *Handler) asset(w http.ResponseWriter, r *http.Request) {
	data, ok := h.pages.assets[r.PathValue("name")]
	if !ok {
		problem(w, r, http.StatusNotFound, "not-found", "there is no such file")
		return
	}
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	http.ServeContent(w, r, r.PathValue("name"), time.Time{}, bytes.NewReader(data))
}
