//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package embedded

import "os"

// lock does nothing. On these systems the standard library has no lock that ends with the process. A lock that
// outlives a crash would do more harm than good.
func lock(*os.File) error { return nil }
