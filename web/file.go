package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"
)

// contentTypes is fixed, because the system's table differs from machine to machine.
var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".jpg":  "image/jpeg",
	".js":   "text/javascript; charset=utf-8",
	".png":  "image/png",
	".svg":  "image/svg+xml",
	".ts":   "application/typescript; charset=utf-8",
	".txt":  "text/plain; charset=utf-8",
	".yaml": "application/yaml; charset=utf-8",

	".webmanifest": "application/manifest+json; charset=utf-8",
}

// file is one answer, prepared in both encodings. When a rain is announced, thousands of phones load the page within
// seconds over one hall's network; compressing each file once makes that cheap.
type file struct {
	contentType string
	plain, zip  variant
	immutable   bool   // what this path serves never changes
	anyOrigin   bool   // a page of another origin may read it
	inline      string // what Content-Security-Policy calls the page's inline script; empty: it has none
}

type variant struct {
	body []byte
	etag string
}

func newFile(name string, data []byte) *file {
	contentType, ok := contentTypes[path.Ext(name)]
	if !ok {
		panic("web: no content type for " + name)
	}
	sum := sha256.Sum256(data)
	tag := hex.EncodeToString(sum[:12])
	return &file{
		contentType: contentType,
		plain:       variant{body: data, etag: `"` + tag + `"`},
		zip:         variant{body: compress(data), etag: `"` + tag + `-gz"`},
	}
}

func compress(data []byte) []byte {
	var out bytes.Buffer
	zw, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	must(err)
	_, _ = zw.Write(data) // a bytes.Buffer takes everything
	_ = zw.Close()
	return out.Bytes()
}

// serve answers with the file, or with 304 if the browser has it. no-cache makes the browser ask each time, so that an
// old page never meets a new server. Files with a hash in their name are cached for a year.
func (f *file) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-cache")
	if f.immutable {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	h.Add("Vary", "Accept-Encoding")
	v := f.plain
	if acceptsGzip(r.Header.Get("Accept-Encoding")) {
		v = f.zip
	}
	h.Set("ETag", v.etag)
	if v.etag == f.zip.etag {
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("Content-Type", f.contentType)
	h.Set("Content-Length", strconv.Itoa(len(v.body)))
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(v.body))
}

// acceptsGzip reads Accept-Encoding as far as it matters here: gzip is named and not refused by q=0.
func acceptsGzip(header string) bool {
	for part := range strings.SplitSeq(header, ",") {
		coding, q, _ := strings.Cut(part, ";")
		if strings.TrimSpace(coding) != "gzip" {
			continue
		}
		weight, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(q), "q="), 64)
		return err != nil || weight > 0
	}
	return false
}
