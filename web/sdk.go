package web

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"regexp"
)

//go:embed sdk/redrain.d.ts
var sdkTypes []byte

//go:embed sdk/example.html
var sdkExample []byte

// sdkFiles are the client's library, for pages of this and of other servers, with an example. script is the bundled
// library.
func sdkFiles(script []byte) map[string]*file {
	library, types, example := newFile("redrain.js", script), newFile("redrain.d.ts", sdkTypes),
		newFile("example.html", sdkExample)
	library.anyOrigin, types.anyOrigin = true, true
	example.inline = inlineScript(sdkExample)
	return map[string]*file{"/sdk/redrain.js": library, "/sdk/redrain.d.ts": types, "/sdk/example": example}
}

var scriptPattern = regexp.MustCompile(`(?s)<script type="module">(.*?)</script>`)

// inlineScript is the source expression that lets a page's one inline script run, and no other.
func inlineScript(html []byte) string {
	m := scriptPattern.FindSubmatch(html)
	if m == nil {
		panic("web: the example has no script")
	}
	sum := sha256.Sum256(m[1])
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
