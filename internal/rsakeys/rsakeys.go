// Package rsakeys reads RSA keys, and signs and verifies texts with them: RSASSA-PKCS1-v1_5 with SHA-256, in base64.
// WeChat Pay calls it WECHATPAY2-SHA256-RSA2048, and Alipay RSA2.
package rsakeys

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"strings"
)

// leastBits is the least size of a key.
const leastBits = 2048

// ErrSignature means that a signature does not belong to a text, or is of another key.
var ErrSignature = errors.New("invalid signature")

// Private parses a private key: PEM or only its base64, in PKCS #8 or PKCS #1. An error does not repeat the text.
func Private(text []byte) (*rsa.PrivateKey, error) {
	der, err := derOf(text)
	if err != nil {
		return nil, err
	}
	key, err := x509.ParsePKCS1PrivateKey(der)
	if err != nil {
		other, otherErr := x509.ParsePKCS8PrivateKey(der)
		var isRSA bool
		if key, isRSA = other.(*rsa.PrivateKey); otherErr != nil || !isRSA {
			return nil, errors.New("not an RSA private key in PKCS #8")
		}
	}
	return key, sized(key.N.BitLen())
}

// Public parses a public key, or the one of a certificate: PEM, or only the base64 of a key.
func Public(text []byte) (*rsa.PublicKey, error) {
	der, err := derOf(text)
	if err != nil {
		return nil, err
	}
	found, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		certificate, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, errors.New("neither a public key nor a certificate")
		}
		found = certificate.PublicKey
	}
	key, is := found.(*rsa.PublicKey)
	if !is {
		return nil, errors.New("not an RSA public key")
	}
	return key, sized(key.N.BitLen())
}

// Read reads a key from a file.
func Read[K any](path string, parse func([]byte) (K, error)) (key K, err error) {
	text, err := os.ReadFile(path) //nolint:gosec // the operator chooses the path
	if err == nil {
		key, err = parse(text)
	}
	return key, err
}

func sized(bits int) error {
	if bits < leastBits {
		return fmt.Errorf("a key of %d bits is too short; %d are the least", bits, leastBits)
	}
	return nil
}

func derOf(text []byte) ([]byte, error) {
	if block, _ := pem.Decode(text); block != nil {
		return block.Bytes, nil
	}
	der, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(string(text)), ""))
	if err != nil || len(der) == 0 {
		return nil, errors.New("not a key in PEM")
	}
	return der, nil
}

// Sign returns the signature of a text. It is always the same.
func Sign(key *rsa.PrivateKey, text string) (string, error) {
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(nil, key, crypto.SHA256, sum[:])
	if err != nil {
		return "", fmt.Errorf("sign: %w", err)
	}
	return base64.StdEncoding.EncodeToString(signature), nil
}

// Verify returns ErrSignature unless a signature is the key's for a text.
func Verify(key *rsa.PublicKey, text, signature string) error {
	raw, err := base64.StdEncoding.DecodeString(signature)
	if err != nil {
		return ErrSignature
	}
	sum := sha256.Sum256([]byte(text))
	if rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], raw) != nil {
		return ErrSignature
	}
	return nil
}
