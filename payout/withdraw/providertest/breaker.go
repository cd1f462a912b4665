package providertest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"time"
)

// Fault is a failure of a request.
type Fault string

// The faults. In the first three the receiver has done its work.
const (
	LostAnswer Fault = "the answer is lost"
	CutAnswer  Fault = "the answer breaks off"
	ThenError  Fault = "an error after the work"

	NotReached Fault = "the connection is cut"
	Hangs      Fault = "no answer comes"
	Busy       Fault = "too many requests"
	Broken     Fault = "an error instead of the work"
	Stranger   Fault = "the key is refused"
	NotFound   Fault = "a wrong path"
	Page       Fault = "a page of a proxy"
)

// Faults returns all faults.
func Faults() []Fault {
	return []Fault{LostAnswer, CutAnswer, ThenError, NotReached, Hangs, Busy, Broken, Stranger, NotFound, Page}
}

// BusyFor is the Retry-After of a receiver that is Busy.
const BusyFor = 7 * time.Second

// Breaker is an http.Handler that breaks requests in flight to another one.
type Breaker struct {
	Next http.Handler

	mu   sync.Mutex
	next Fault
	left int
}

// Break makes the next n requests fail.
func (b *Breaker) Break(f Fault, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next, b.left = f, n
}

func (b *Breaker) fault() Fault {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.left == 0 {
		return ""
	}
	b.left--
	return b.next
}

// ServeHTTP implements http.Handler.
func (b *Breaker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch b.fault() {
	case LostAnswer:
		b.Next.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	case CutAnswer:
		answer := httptest.NewRecorder()
		b.Next.ServeHTTP(answer, r)
		body := answer.Body.String()
		w.Header().Set("Content-Length", strconv.Itoa(len(body)+1))
		w.WriteHeader(answer.Code)
		_, _ = io.WriteString(w, body) // the sender may have gone
		panic(http.ErrAbortHandler)
	case ThenError:
		b.Next.ServeHTTP(httptest.NewRecorder(), r)
		http.Error(w, `{"error":"something broke after the work"}`, http.StatusInternalServerError)
	case NotReached:
		panic(http.ErrAbortHandler)
	case Hangs:
		_, _ = io.Copy(io.Discard, r.Body) // only then the server notices that the sender goes
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	case Busy:
		w.Header().Set("Retry-After", strconv.Itoa(int(BusyFor/time.Second)))
		http.Error(w, `{"error":"too many requests"}`, http.StatusTooManyRequests)
	case Broken:
		http.Error(w, `{"error":"nothing works"}`, http.StatusServiceUnavailable)
	case Stranger:
		http.Error(w, `{"error":"invalid key"}`, http.StatusUnauthorized)
	case NotFound:
		http.NotFound(w, r)
	case Page:
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<html>Welcome to nginx</html>") // the sender may have gone
	default:
		b.Next.ServeHTTP(w, r)
	}
}
