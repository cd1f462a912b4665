//go:build !unix

package frames

import "errors"

const supported = false

func read(int, []byte) (int, error) { return 0, errors.ErrUnsupported }
