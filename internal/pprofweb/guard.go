// SPDX-License-Identifier: Apache-2.0

package pprofweb

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// guard requires a token, as other users can connect to the port, and a Host header of this server (DNS rebinding).
type guard struct {
	host, port string
	token      string // in the first address
	cookie     string // in later requests
	pages      map[string]http.Handler
}

func newGuard(host, port string) *guard {
	return &guard{host: host, port: port, token: newSecret(), cookie: newSecret()}
}

func newSecret() string {
	var b [24]byte
	_, _ = rand.Read(b[:])
	return base64.RawURLEncoding.EncodeToString(b[:])
}

func (g *guard) url() string {
	return "http://" + net.JoinHostPort(g.host, g.port) + "/ui/?token=" + g.token
}

// cookieName includes the port, since the ports of a host share cookies.
func (g *guard) cookieName() string { return "prywalk-" + g.port }

const (
	wrongHost = "prywalk: this is not the host that the request names; open the address that was printed."
	noToken   = "prywalk: open the address that was printed on the terminal, with its token."
)

// ServeHTTP implements http.Handler.
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "+
		"img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	switch {
	case !g.acceptsHost(r.Host):
		http.Error(w, wrongHost, http.StatusForbidden)
	case equalSecret(r.URL.Query().Get("token"), g.token):
		g.setToken(w, r)
	case !g.hasToken(r):
		http.Error(w, noToken, http.StatusForbidden)
	case r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodPost:
		http.Error(w, "not allowed", http.StatusMethodNotAllowed)
	default:
		g.serve(w, r)
	}
}

// acceptsHost accepts the server's name, localhost, and loopback addresses; any address if it listens on all, as DNS
// cannot redirect one.
func (g *guard) acceptsHost(hostport string) bool {
	host, port, err := net.SplitHostPort(hostport)
	if err != nil {
		host, port = strings.Trim(hostport, "[]"), "80"
	}
	if port != g.port {
		return false
	}
	if strings.EqualFold(host, g.host) || strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	own, err := netip.ParseAddr(g.host)
	return ip.IsLoopback() || err == nil && own.IsUnspecified()
}

func equalSecret(got, want string) bool {
	return subtle.ConstantTimeCompare([]byte(got), []byte(want)) == 1
}

func (g *guard) hasToken(r *http.Request) bool {
	return slices.ContainsFunc(r.CookiesNamed(g.cookieName()),
		func(c *http.Cookie) bool { return equalSecret(c.Value, g.cookie) })
}

// setToken redirects to the address without token, for the history.
func (g *guard) setToken(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, &http.Cookie{
		Name: g.cookieName(), Value: g.cookie, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
	q := r.URL.Query()
	q.Del("token")
	// One slash: two would name another host.
	to := url.URL{Path: "/" + strings.TrimLeft(r.URL.Path, "/"), RawQuery: q.Encode()}
	http.Redirect(w, r, to.String(), http.StatusSeeOther)
}

func (g *guard) serve(w http.ResponseWriter, r *http.Request) {
	path, ok := strings.CutPrefix(r.URL.Path, "/ui")
	if !ok {
		http.Redirect(w, r, "/ui/", http.StatusTemporaryRedirect)
		return
	}
	h := g.pages[path]
	if h == nil {
		http.NotFound(w, r)
		return
	}
	r.URL.Path = path
	h.ServeHTTP(w, r)
}
