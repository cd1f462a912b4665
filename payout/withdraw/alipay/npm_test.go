package alipay

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"redrain/internal/rsakeys"
	"redrain/internal/testenv"
	"redrain/payout/withdraw/providertest"
)

// npmScript signs requests and verifies notifications with alipay-sdk.
const npmScript = `
const path = require("path");
const { AlipaySdk } = require("alipay-sdk");
const { sign } = require(path.join(__dirname, "node_modules/alipay-sdk/dist/commonjs/util.js"));
const config = { appId: given.AppID, charset: "utf-8", version: "1.0", signType: "RSA2", privateKey: given.Key };
const sdk = new AlipaySdk({ appId: given.AppID, privateKey: given.Key, alipayPublicKey: given.Public,
  keyType: "PKCS8" });
return given.Cases.map((c) => ({
  Form: sign("alipay.fund.trans.uni.transfer", { timestamp: given.Timestamp, format: "json",
    notify_url: "https://rain.example/n", bizContent: c.Content }, config),
  Verified: sdk.checkNotifySignV2(c.Notification),
}));`

type npmCase struct {
	Content      transfer
	Notification map[string]string
}

type npmAnswer struct {
	Form     map[string]string
	Verified bool
}

// TestSignaturesOfAnIndependentLibrary compares each parameter of requests with those of alipay-sdk. The library
// accepts the notifications that this package accepts.
func TestSignaturesOfAnIndependentLibrary(t *testing.T) {
	t.Parallel()
	key := testenv.Got(rsa.GenerateKey(rand.Reader, 2048)).Must(t)
	private := testenv.Got(x509.MarshalPKCS8PrivateKey(key)).Must(t)
	public := testenv.Got(x509.MarshalPKIXPublicKey(&key.PublicKey)).Must(t)
	at := time.UnixMilli(1763712000000)
	p := &Provider{o: Options{AppID: "2021000000000000", Key: key, PublicKey: &key.PublicKey,
		NotifyURL: "https://rain.example/n"}}
	in := struct {
		Key, Public, AppID, Timestamp string
		Cases                         []npmCase
	}{string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})), p.o.AppID,
		at.In(beijing).Format(time.DateTime), nil}
	for i, title := range providertest.SignedTexts() {
		number := "w" + string(rune('a'+i))
		f := url.Values{"app_id": {p.o.AppID}, "msg_method": {"alipay.fund.trans.order.changed"}, "sign_type": {"RSA2"},
			"charset": {"utf-8"}, "biz_content": {`{"out_biz_no":"` + number + `"}`}}
		if title != "" {
			f.Set("remark", title)
		}
		f.Set("sign", testenv.Got(rsakeys.Sign(key, joined(f))).Must(t))
		testenv.Got(p.ReadNotification(http.Header{}, []byte(f.Encode()))).Want(t, number, "number")
		in.Cases = append(in.Cases, npmCase{transfer{Number: number, Amount: "2.50", Product: product, Scene: scene,
			Title: title, Payee: payeeOf("2088101117955611")}, flat(f)})
	}
	answers := providertest.RunNode[[]npmAnswer](t, npmScript, in, "alipay-sdk@4.14.0")
	testenv.Equal(t, len(answers), 10, "answers")
	for i, c := range in.Cases {
		form := testenv.Got(p.form(methodTransfer, c.Content, at)).Must(t)
		testenv.Equal(t, flat(form), answers[i].Form, "form of %.20q", c.Content.Title)
		testenv.Equal(t, answers[i].Verified, true, "verified %.20q", c.Content.Title)
	}
}

// flat returns the first value of each parameter.
func flat(f url.Values) map[string]string {
	m := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(f)) {
		m[name] = f.Get(name)
	}
	return m
}
