package report

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// Recorder passes requests on and remembers them with their answers.
type Recorder struct {
	transport http.RoundTripper
	exchanges []exchange
}

type exchange struct {
	method, path, query, sent, received string
	status                              int
}

// NewRecorder trusts the certificate in SSL_CERT_FILE, if that is set, on every platform.
func NewRecorder() (*Recorder, error) {
	transport := &http.Transport{ForceAttemptHTTP2: true, IdleConnTimeout: 90 * time.Second}
	if path := os.Getenv("SSL_CERT_FILE"); path != "" {
		certificate, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(certificate) {
			return nil, fmt.Errorf("%s holds no certificate", path)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool}
	}
	return &Recorder{transport: transport}, nil
}

// RoundTrip implements http.RoundTripper.
func (r *Recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	seen := exchange{method: request.Method, path: request.URL.EscapedPath(), query: request.URL.RawQuery}
	if request.Body != nil {
		body, err := io.ReadAll(request.Body)
		request.Body.Close()
		if err != nil {
			return nil, err
		}
		seen.sent = string(body)
		request.Body = io.NopCloser(bytes.NewReader(body))
	}
	response, err := r.transport.RoundTrip(request)
	if err != nil {
		seen.received = err.Error()
		r.exchanges = append(r.exchanges, seen)
		return nil, err
	}
	body, err := io.ReadAll(response.Body)
	response.Body.Close()
	if err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	seen.status, seen.received = response.StatusCode, string(body)
	r.exchanges = append(r.exchanges, seen)
	return response, nil
}

// Forget drops what was remembered.
func (r *Recorder) Forget() { r.exchanges = nil }

// Saw tells whether a request of this operation was sent.
func (r *Recorder) Saw(operation string) bool {
	for _, seen := range r.exchanges {
		if seen.matches(operation) {
			return true
		}
	}
	return false
}

// Last describes the last exchange of this operation, or else the last of any.
func (r *Recorder) Last(operation string) string {
	for i := len(r.exchanges) - 1; i >= 0; i-- {
		if r.exchanges[i].matches(operation) {
			return r.exchanges[i].String()
		}
	}
	if len(r.exchanges) > 0 {
		return r.exchanges[len(r.exchanges)-1].String()
	}
	return ""
}

// Query gives the query of the last request, decoded.
func (r *Recorder) Query() string {
	if len(r.exchanges) == 0 {
		return ""
	}
	query, err := url.QueryUnescape(r.exchanges[len(r.exchanges)-1].query)
	if err != nil {
		return ""
	}
	return query
}

// matches compares with a template in which {name} stands for one segment.
func (e exchange) matches(operation string) bool {
	method, template, _ := strings.Cut(operation, " ")
	wanted, got := strings.Split(template, "/"), strings.Split(e.path, "/")
	if method != e.method || len(wanted) != len(got) {
		return false
	}
	for i, segment := range wanted {
		if !strings.HasPrefix(segment, "{") && segment != got[i] {
			return false
		}
	}
	return true
}

func (e exchange) String() string {
	path := e.path
	if query, err := url.QueryUnescape(e.query); err == nil && query != "" {
		path += "?" + query
	}
	text := fmt.Sprintf("%s %s -> %d %s", e.method, path, e.status, brief(e.received))
	if e.sent != "" {
		text += " (sent " + brief(e.sent) + ")"
	}
	return text
}

// brief keeps a body short and leaves out the secrets that token answers show.
func brief(body string) string {
	body = strings.TrimSpace(body)
	if _, rest, found := strings.Cut(body, `"token":"`); found {
		if secret, _, closed := strings.Cut(rest, `"`); closed && secret != "" {
			body = strings.ReplaceAll(body, secret, "…")
		}
	}
	if len(body) > 900 {
		body = body[:900] + "…"
	}
	return body
}
