package login

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
)

// Returns are the addresses that a login may return to: each of these, and everything below its path. Another address
// would get a code that signs the player in.
type Returns []*url.URL

// ErrForeignReturn is returned for an address that a login may not return to.
var ErrForeignReturn = errors.New("a login may only return to an address that --login-return names")

// ParseReturns parses the prefixes of addresses.
func ParseReturns(prefixes []string) (Returns, error) {
	var all Returns
	for _, text := range prefixes {
		u, err := url.Parse(text)
		if err != nil || !isPage(u) || u.RawQuery != "" || u.Fragment != "" {
			return nil, fmt.Errorf("%q: give scheme://host[:port][/path]", text)
		}
		all = append(all, u)
	}
	return all, nil
}

// Parse returns an allowed address without its fragment, or ErrForeignReturn.
func (r Returns) Parse(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || !isPage(u) || !slices.ContainsFunc(r, func(prefix *url.URL) bool { return below(prefix, u) }) {
		return nil, ErrForeignReturn
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

// isPage reports whether an address is a page's, as browsers read it too: they resolve dots, and take \ for /.
func isPage(u *url.URL) bool {
	return (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.User == nil &&
		!strings.Contains(u.Path, `\`) && (u.Path == "" || path.Clean(u.Path) == "/"+strings.Trim(u.Path, "/"))
}

// below reports whether an address is a prefix, or is in the directory that the prefix names.
func below(prefix, u *url.URL) bool {
	dir := strings.TrimSuffix(prefix.Path, "/")
	return u.Scheme == prefix.Scheme && strings.EqualFold(u.Host, prefix.Host) &&
		(u.Path == dir || strings.HasPrefix(u.Path, dir+"/"))
}
