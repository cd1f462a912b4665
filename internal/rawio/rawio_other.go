//go:build !unix

package rawio

import "errors"

// Supported reports whether this system has Send and Receive.
const Supported = false

// Send is not supported.
func Send(int, []byte) (int, error) { return 0, errors.ErrUnsupported }

// Receive is not supported.
func Receive(int, []byte) (int, error) { return 0, errors.ErrUnsupported }
