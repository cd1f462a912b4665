package auth

import (
	"errors"
	"fmt"
	"strings"
)

const (
	// leastSecret is the least length of an HS256 secret in bytes, by RFC 7518, section 3.2.
	leastSecret = 32
	// mostSecrets is the number of secrets of HS256 tokens: during a rotation, the new one and the one before.
	mostSecrets = 2
	// leastToken is the least length of a shared operators' token, in bytes. So many random ones cannot be guessed over
	// the network.
	leastToken = 16
)

// ParseSecrets returns the secrets of HS256 tokens in a text, one a line. The error does not repeat them.
func ParseSecrets(text string) (secrets []string, err error) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			secrets = append(secrets, line)
		}
		if line != "" && len(line) < leastSecret {
			return nil, fmt.Errorf("give at least %d bytes, drawn at random (openssl rand -hex 32)", leastSecret)
		}
	}
	if len(secrets) == 0 || len(secrets) > mostSecrets {
		return nil, errors.New("give one secret, or two lines: the new one, and the one before")
	}
	return secrets, nil
}

// CheckToken returns an error unless a text can be a shared operators' token. It does not repeat the text.
func CheckToken(text string) error {
	if len(text) < leastToken || strings.ContainsAny(text, "\r\n") {
		return fmt.Errorf("give one line of at least %d characters, drawn at random (openssl rand -hex 16)", leastToken)
	}
	return nil
}
