package wechatpay

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"testing"

	"redrain/internal/testenv"
	"redrain/payout/withdraw/providertest"
)

// npmScript does with wechatpay-axios-plugin what this package does.
const npmScript = `
const { Rsa, Formatter, Aes } = require("wechatpay-axios-plugin");
return given.Cases.map((c) => {
  const signature = Rsa.sign(Formatter.request(c.Method, c.URI, c.Timestamp, c.Nonce, c.Body), given.Key);
  return {
    Authorization: Formatter.authorization(given.MchID, c.Nonce, signature, c.Timestamp, given.Serial),
    Signature: Rsa.sign(Formatter.response(c.Timestamp, c.Nonce, c.Body), given.Key),
    Ciphertext: Aes.AesGcm.encrypt(c.Body, given.APIv3Key, c.Nonce.slice(0, 12), "mch_payment"),
  };
});`

type npmCase struct{ Method, URI, Timestamp, Nonce, Body string }

type npmAnswer struct{ Authorization, Signature, Ciphertext string }

// TestSignaturesOfAnIndependentLibrary compares headers, signatures and decrypted texts with wechatpay-axios-plugin.
func TestSignaturesOfAnIndependentLibrary(t *testing.T) {
	t.Parallel()
	key := testenv.Got(rsa.GenerateKey(rand.Reader, 2048)).Must(t)
	der := testenv.Got(x509.MarshalPKCS8PrivateKey(key)).Must(t)
	in := struct {
		Key, MchID, Serial, APIv3Key string
		Cases                        []npmCase
	}{string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), "1900000109", "5157F09EFDC096DE15EBE81A",
		"0123456789abcdef0123456789ABCDEF", nil}
	for i, body := range providertest.SignedTexts() {
		c := npmCase{http.MethodPost, transfers, fmt.Sprint(1763712000 + i), fmt.Sprintf("%032d", i), body}
		if i%2 == 1 {
			c.Method, c.URI = http.MethodGet, transfers+"/out-bill-no/w1?a=%E7%BA%A2&b=1"
		}
		in.Cases = append(in.Cases, c)
	}
	answers := providertest.RunNode[[]npmAnswer](t, npmScript, in, "wechatpay-axios-plugin@0.9.6")
	p := &Provider{o: Options{MchID: in.MchID, Key: key, KeySerial: in.Serial,
		Clock:      func() int64 { return 1763712000000 },
		PublicKeys: []PublicKey{{ID: "k", Key: &key.PublicKey}}}}
	testenv.Equal(t, len(answers), 10, "answers")
	for i, c := range in.Cases {
		testenv.Got(p.authorization(c.Method, c.URI, stamp{c.Timestamp, c.Nonce}, []byte(c.Body))).Want(t,
			answers[i].Authorization, "authorization of %.20q", c.Body)
		testenv.WantErr(t, p.verify(http.Header{headerTimestamp: {c.Timestamp}, headerNonce: {c.Nonce},
			headerSerial: {"k"}, headerSignature: {answers[i].Signature}}, []byte(c.Body)), nil, "verify", c.Body)
		text, err := resource{Type: "mch_payment", Algorithm: "AEAD_AES_256_GCM", Ciphertext: answers[i].Ciphertext,
			Nonce: c.Nonce[:12], Data: "mch_payment"}.decrypt(in.APIv3Key)
		testenv.Must(t, err)
		testenv.Equal(t, string(text), c.Body, "decrypted")
	}
}
