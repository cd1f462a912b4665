package wechatpay

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"redrain/internal/rsakeys"
)

// The headers of answers and notifications.
const (
	headerTimestamp = "Wechatpay-Timestamp"
	headerNonce     = "Wechatpay-Nonce"
	headerSignature = "Wechatpay-Signature"
	headerSerial    = "Wechatpay-Serial"
)

// clockSlack is the largest difference between a signed timestamp and this machine's clock.
const clockSlack = 5 * time.Minute

// stamp is the time and the nonce of a signature.
type stamp struct {
	timestamp string // Unix seconds
	nonce     string
}

func stampAt(nowMS int64) stamp {
	return stamp{strconv.FormatInt(nowMS/1000, 10), rand.Text()}
}

// lines returns the text of a signature: each part ends with a newline.
func lines(parts ...string) string { return strings.Join(parts, "\n") + "\n" }

// authorization returns the header of a request: see https://pay.weixin.qq.com/doc/v3/merchant/4012365336.
func (p *Provider) authorization(method, uri string, s stamp, body []byte) (string, error) {
	signature, err := rsakeys.Sign(p.o.Key, lines(method, uri, s.timestamp, s.nonce, string(body)))
	return fmt.Sprintf(`WECHATPAY2-SHA256-RSA2048 mchid=%q,serial_no=%q,timestamp=%q,nonce_str=%q,signature=%q`,
		p.o.MchID, p.o.KeySerial, s.timestamp, s.nonce, signature), err
}

// The errors of verify. A signature is refused in each case.
var (
	errUnsigned   = errors.New("it is not signed by WeChat Pay")
	errUnknownKey = errors.New("it is signed by an unknown key of WeChat Pay: give it with --wechat-public-key-id")
	errClock      = errors.New("its time differs from this machine's clock by more than 5 minutes: check the clock")
)

// verify checks the signature of an answer or a notification: see
// https://pay.weixin.qq.com/doc/v3/merchant/4013053249.
func (p *Provider) verify(header http.Header, body []byte) error {
	serial, timestamp := header.Get(headerSerial), header.Get(headerTimestamp)
	if header.Get(headerSignature) == "" {
		return errUnsigned
	}
	for _, k := range p.o.PublicKeys {
		if k.ID != serial {
			continue
		}
		text := lines(timestamp, header.Get(headerNonce), string(body))
		if rsakeys.Verify(k.Key, text, header.Get(headerSignature)) != nil {
			return errUnsigned
		}
		seconds, err := strconv.ParseInt(timestamp, 10, 64)
		if off := time.UnixMilli(p.o.Clock()).Sub(time.Unix(seconds, 0)); err != nil || off.Abs() > clockSlack {
			return errClock
		}
		return nil
	}
	return errUnknownKey
}

// finished is the event of a transfer that has ended.
const finished = "MCHTRANSFER.BILL.FINISHED"

// ReadNotification implements withdraw.Notified: see https://pay.weixin.qq.com/doc/v3/merchant/4012712115.
func (p *Provider) ReadNotification(header http.Header, body []byte) (key string, err error) {
	if err := p.verify(header, body); err != nil {
		return "", err
	}
	var n struct {
		Event    string   `json:"event_type"`
		Resource resource `json:"resource"`
	}
	if err := json.Unmarshal(body, &n); err != nil {
		return "", errors.New("the notification is not JSON")
	}
	if n.Event != finished {
		return "", nil
	}
	text, err := n.Resource.decrypt(p.o.APIv3Key())
	if err != nil {
		return "", err
	}
	var b struct {
		MchID  string `json:"mch_id"`
		Number string `json:"out_bill_no"`
	}
	if err := json.Unmarshal(text, &b); err != nil || b.MchID != "" && b.MchID != p.o.MchID {
		return "", errors.New("the notification is about no transfer of this merchant")
	}
	return b.Number, nil
}

// resource is the encrypted part of a notification.
type resource struct {
	Type       string `json:"original_type"`
	Algorithm  string `json:"algorithm"`
	Ciphertext string `json:"ciphertext"`
	Nonce      string `json:"nonce"`
	Data       string `json:"associated_data"`
}

var errDecrypt = errors.New("the notification cannot be decrypted: check --wechat-apiv3-key")

// decrypt returns the text: see https://pay.weixin.qq.com/doc/v3/merchant/4012071382.
func (r resource) decrypt(key string) ([]byte, error) {
	if r.Algorithm != "AEAD_AES_256_GCM" || r.Type != "mch_payment" {
		return nil, errors.New("the notification is of another type than mch_payment in AEAD_AES_256_GCM")
	}
	block, err := aes.NewCipher([]byte(key))
	if err != nil {
		return nil, errDecrypt
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil || len(r.Nonce) != gcm.NonceSize() {
		return nil, errDecrypt
	}
	raw, err := base64.StdEncoding.DecodeString(r.Ciphertext)
	if err != nil {
		return nil, errDecrypt
	}
	text, err := gcm.Open(nil, []byte(r.Nonce), raw, []byte(r.Data))
	if err != nil {
		return nil, errDecrypt
	}
	return text, nil
}

// AnswerNotification implements withdraw.Notified.
func (*Provider) AnswerNotification(w http.ResponseWriter, status int) {
	body := `{"code":"SUCCESS","message":"OK"}`
	if status != http.StatusOK {
		body = `{"code":"FAIL","message":"refused"}`
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body)) // if this fails, it is sent again
}
