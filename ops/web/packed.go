package web

import (
	"compress/gzip"
	"net/http"
	"strings"
	"sync"
)

// A packer compresses an answer.
type packer struct {
	http.ResponseWriter
	z *gzip.Writer
}

// Write compresses a part of the body.
func (p *packer) Write(b []byte) (int, error) { return p.z.Write(b) }

// FlushError sends all that was written so far.
func (p *packer) FlushError() error {
	if err := p.z.Flush(); err != nil {
		return err
	}
	return http.NewResponseController(p.ResponseWriter).Flush()
}

// Unwrap returns the writer below, for its deadlines.
func (p *packer) Unwrap() http.ResponseWriter { return p.ResponseWriter }

var gzips = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

// packed compresses the answers of a page for callers that accept it. The length of a compressed
// answer reveals a secret beside a text that another site chooses (BREACH): pages have none. A
// session is a cookie, and forms need no token against other sites.
func packed(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Vary", "Accept-Encoding")
		if !acceptsGzip(r.Header.Get("Accept-Encoding")) {
			next(w, r)
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		z, _ := gzips.Get().(*gzip.Writer)
		z.Reset(w)
		defer func() {
			_ = z.Close() // a reader that has left gets no more
			gzips.Put(z)
		}()
		next(&packer{w, z}, r)
	}
}

// acceptsGzip reports whether the header Accept-Encoding names gzip, and not with the weight 0.
func acceptsGzip(header string) bool {
	for part := range strings.SplitSeq(header, ",") {
		name, weight, _ := strings.Cut(strings.ReplaceAll(part, " ", ""), ";")
		if strings.EqualFold(name, "gzip") {
			return strings.Trim(strings.TrimPrefix(weight, "q="), "0.") != "" || weight == ""
		}
	}
	return false
}
