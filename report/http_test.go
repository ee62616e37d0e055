// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bufio"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
)

const (
	wrongHost = "prywalk: this is not the host that the request names; open the address that was printed."
	noToken   = "prywalk: open the address that was printed on the terminal, with its token."
)

func served(t *testing.T, p *profile.Profile, source string) *url.URL {
	t.Helper()
	r, w := io.Pipe()
	go func() {
		w.CloseWithError(ServeHTTP("localhost:", p, HTTPOptions{Source: source, Log: w}))
	}()
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, r) }()
	u, err := url.Parse(strings.TrimPrefix(strings.TrimSpace(line), "Serving the profile on "))
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// host is the Host header, "" for the right one. Redirections are followed with a jar only.
func ask(t *testing.T, jar http.CookieJar, u *url.URL, host string) (int, string) {
	t.Helper()
	c := &http.Client{Jar: jar}
	if jar == nil {
		c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	req, err := http.NewRequest(http.MethodGet, u.String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = host
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func admitted(t *testing.T, u *url.URL) http.CookieJar {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	if code, body := ask(t, jar, u, ""); code != http.StatusOK || !strings.Contains(body, "compress") {
		t.Fatalf("status %d, %.200s", code, body)
	}
	return jar
}

func pageOf(u *url.URL, path, query string) *url.URL {
	return &url.URL{Scheme: u.Scheme, Host: u.Host, Path: path, RawQuery: query}
}

func TestHTTPServesPprofPagesToWhoHasTheToken(t *testing.T) {
	u := served(t, fixture(t), "")
	jar := admitted(t, u)
	for path, want := range map[string]string{
		"/ui/top": "compress", "/ui/flamegraph": "compress", "/ui/peek": "compress", "/ui/download": "\x1f\x8b",
		"/": "compress",
	} {
		code, body := ask(t, jar, pageOf(u, path, ""), "")
		if code != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: status %d, %.200s", path, code, body)
		}
		if strings.Contains(body, u.Query().Get("token")) {
			t.Errorf("%s tells the token", path)
		}
	}
}

func TestHTTPTellsNothingWithoutTheToken(t *testing.T) {
	u := served(t, fixture(t), "")
	admitted(t, u)
	port := u.Port()
	for _, path := range []string{"/", "/ui/", "/ui/top", "/ui/download", "/ui/source", "/ui/disasm", "/ui/saveconfig",
		"/ui/deleteconfig", "/nonsense"} {
		for _, query := range []string{"", "token=", "token=x", "token=" + strings.Repeat("A", 32),
			"token=" + u.Query().Get("token") + "x"} {
			if code, body := ask(t, nil, pageOf(u, path, query), ""); code != http.StatusForbidden || body != noToken+"\n" {
				t.Errorf("%s?%s: status %d, %.200s", path, query, code, body)
			}
		}
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	jar.SetCookies(u, []*http.Cookie{{Name: "prywalk-" + port, Value: "", Path: "/"},
		{Name: "prywalk-" + port, Value: u.Query().Get("token"), Path: "/ui/"}})
	if code, _ := ask(t, jar, pageOf(u, "/ui/top", ""), ""); code != http.StatusForbidden {
		t.Errorf("status %d for a cookie that it never gave", code)
	}
}

func TestHTTPAnswersUnderItsOwnNamesOnly(t *testing.T) {
	u := served(t, fixture(t), "")
	jar := admitted(t, u)
	port := ":" + u.Port()
	for host, own := range map[string]bool{
		"localhost" + port: true, "LocalHost" + port: true, "127.0.0.1" + port: true, "[::1]" + port: true, "": true,
		"evil.example" + port: false, "localhost.evil.example" + port: false, "localhost": false, "localhost:1": false,
		"192.0.2.7" + port: false, "127.0.0.1.evil.example" + port: false,
	} {
		for _, u := range []*url.URL{pageOf(u, "/ui/top", ""), u} {
			code, body := ask(t, nil, u, host)
			if refused := body == wrongHost+"\n"; refused == own || refused && code != http.StatusForbidden {
				t.Errorf("Host %s: status %d, %.200s", host, code, body)
			}
		}
	}
	if code, body := ask(t, jar, pageOf(u, "/ui/top", ""), "evil.example"+port); code != http.StatusForbidden {
		t.Errorf("status %d, %.200s", code, body)
	}
}

func withPath(t *testing.T, file string) *profile.Profile {
	p := fixture(t)
	for _, f := range p.Function {
		f.Filename = file
	}
	for _, m := range p.Mapping {
		m.File = file
	}
	return p
}

func TestHTTPReadsNoFileThatTheProfileNames(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret.c")
	if err := os.WriteFile(secret, []byte(strings.Repeat("the key\n", 2000)), 0o600); err != nil {
		t.Fatal(err)
	}
	u := served(t, withPath(t, secret), "")
	jar := admitted(t, u)
	for _, path := range []string{"/ui/source", "/ui/disasm", "/ui/weblist", "/ui/list", "/ui/peek", "/ui/top"} {
		for _, query := range []string{"f=.", "f=.&source_path=/&trim_path=", "f=.&g=lines", "f=.&source_path=" +
			filepath.Dir(secret)} {
			code, body := ask(t, jar, pageOf(u, path, query), "")
			if strings.Contains(body, "the key") {
				t.Errorf("%s?%s gives the file away", path, query)
			}
			if (path == "/ui/source" || path == "/ui/disasm") && code != http.StatusForbidden {
				t.Errorf("%s?%s: status %d", path, query, code)
			}
		}
	}
}

func TestHTTPShowsSourcesBelowTheDirectoryOnly(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "src")
	for name, text := range map[string]string{"key.c": "the key", "src/app/main.c": "int <main>"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(strings.Repeat(text+"\n", 2000)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"out.c": "../key.c", "abs.c": filepath.Join(root, "key.c"),
		"in.c": "app/main.c"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for name, shown := range map[string]bool{
		filepath.Join(dir, "app/main.c"): true, "/build/4711/src/app/main.c": true, "app/main.c": true,
		"./app/../app/main.c": true, "in.c": true,
		"../key.c": false, filepath.Join(root, "key.c"): false, "/x/out.c": false, "abs.c": false, "app/../../key.c": false,
		"/proc/self/environ": false,
	} {
		u := served(t, withPath(t, name), dir)
		code, body := ask(t, admitted(t, u), pageOf(u, "/ui/source", "f=."), "")
		if code != http.StatusOK || strings.Contains(body, "int &lt;main&gt;") != shown || strings.Contains(body, "the key") {
			t.Errorf("%s: status %d, %.300s", name, code, body)
		}
	}
	u := served(t, withPath(t, "app/main.c"), dir)
	jar := admitted(t, u)
	if code, body := ask(t, jar, pageOf(u, "/ui/source", "f=^compress$&si=wall"), ""); code != 200 ||
		strings.Count(body, "<h3>") != 1 {
		t.Errorf("status %d, %.300s", code, body)
	}
	if code, _ := ask(t, jar, pageOf(u, "/ui/source", "f=("), ""); code != http.StatusBadRequest {
		t.Errorf("status %d for a bad expression", code)
	}
	if code, _ := ask(t, jar, pageOf(u, "/ui/disasm", "f=."), ""); code != http.StatusForbidden {
		t.Errorf("status %d for disassembly", code)
	}
}

func TestHTTPSaysWhyItCannotServe(t *testing.T) {
	if err := ServeHTTP("nonsense", fixture(t), HTTPOptions{Log: io.Discard}); err == nil {
		t.Error("no error")
	}
}

func TestPprofsSettingsAreNeitherReadNorWritten(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", dir)
	file := filepath.Join(dir, "pprof", "settings.json")
	const before = `{"configs":[{"name":"of-the-file","focus":"main"}]}`
	if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	u := served(t, fixture(t), "")
	jar := admitted(t, u)
	if _, body := ask(t, jar, pageOf(u, "/ui/top", ""), ""); strings.Contains(body, "of-the-file") {
		t.Error("a setting of the file is offered")
	}
	for _, page := range []string{"/ui/saveconfig", "/ui/deleteconfig"} {
		if code, body := ask(t, jar, pageOf(u, page, "config=of-the-file"), ""); code != http.StatusForbidden {
			t.Errorf("%s: status %d, %s", page, code, body)
		}
	}
	if after, err := os.ReadFile(file); err != nil || string(after) != before {
		t.Errorf("the file is now %q, %v", after, err)
	}
	if os.Getenv("XDG_CONFIG_HOME") != dir {
		t.Error("the environment is another one now")
	}
}
