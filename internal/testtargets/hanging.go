// SPDX-License-Identifier: Apache-2.0

package testtargets

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
)

// FetchServers is the command that brings web servers. It is not [SetUp], as a registry may not answer.
const FetchServers = "sudo scripts/setup-webservers.sh"

// WebServers returns the directory of scripts/setup-webservers.sh, or skips the test if that lacks a file.
func WebServers(tb Skipper, file string) (dir string) {
	tb.Helper()
	for _, dir = range []string{os.Getenv("WEB_SERVERS"), "/usr/local/lib/webservers"} {
		found, _ := filepath.Glob(filepath.Join(dir, file))
		if dir != "" && len(found) > 0 {
			return dir
		}
	}
	Need(tb, false, file, FetchServers)
	return ""
}

// Upstream is a server that accepts connections, reads a request of each, and never answers. It serves until the test's
// end.
type Upstream struct {
	Address string

	mu       sync.Mutex
	requests int
	open     []net.Conn
}

// ListenSilently starts an [Upstream] on a free port.
func ListenSilently(tb TB) *Upstream {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	u := &Upstream{Address: l.Addr().String()}
	tb.Cleanup(func() {
		_ = l.Close()
		u.mu.Lock()
		defer u.mu.Unlock()
		for _, c := range u.open {
			_ = c.Close()
		}
	})
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go u.read(c)
		}
	}()
	return u
}

func (u *Upstream) read(c net.Conn) {
	u.mu.Lock()
	u.open = append(u.open, c)
	u.mu.Unlock()
	if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
		u.mu.Lock()
		u.requests++
		u.mu.Unlock()
	}
}

// Requests is the number of requests so far.
func (u *Upstream) Requests() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.requests
}

// Ask sends n requests for a path, each on a connection of its own, which stay open until the test's end.
func Ask(tb TB, address, path string, n int) {
	tb.Helper()
	for range n {
		c, err := net.Dial("tcp", address)
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { _ = c.Close() })
		if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path); err != nil {
			tb.Fatal(err)
		}
	}
}

// Read reads JSON from a path of a server, on a connection that it closes.
func Read(tb TB, address, path string, into any) {
	tb.Helper()
	client := http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get("http://" + address + path)
	if err != nil {
		tb.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		tb.Fatal(fmt.Errorf("reading %s of %s: %w: %s", path, address, err, text))
	}
}

// AskAll sends requests as Ask does, by path, and waits until the server counts as many in /account.
func AskAll(tb TB, address string, requests map[string]int) {
	tb.Helper()
	for path, n := range requests {
		Ask(tb, address, path, n)
	}
	Eventually(tb, "the server counts all requests", func() bool {
		var inside map[string]int
		Read(tb, address, "/account", &inside)
		for path, n := range requests {
			if inside[path] != n {
				return false
			}
		}
		return true
	})
}
