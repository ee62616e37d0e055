// SPDX-License-Identifier: Apache-2.0

package testtargets

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// freePort is below ip_local_port_range, which clients use.
func freePort() (string, error) {
	var err error
	for range 100 {
		port := strconv.Itoa(10_000 + rand.IntN(20_000))
		var l net.Listener
		if l, err = net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			return port, l.Close()
		}
	}
	return "", err
}

func (t *Target) servePort(args func(port string) []string) (port string, err error) {
	for range 5 {
		if port, err = freePort(); err != nil {
			return "", err
		}
		err = t.serve(t.user, "tcp", "127.0.0.1:"+port, args(port)...)
		if !errors.Is(err, errEnded) {
			return port, err
		}
		t.processes = t.processes[:0]
	}
	return "", err
}

func (t *Target) serve(user *User, network, address string, args ...string) error {
	p, err := t.spawn(user, args...)
	if err != nil {
		return err
	}
	t.PID = p.pid
	return p.waitFor("listen on "+address, func() bool {
		c, err := net.Dial(network, address)
		if err == nil {
			c.Close()
		}
		return err == nil && p.alive() // else another program listens
	})
}

// startRedis has 16 clients send one command, so that redis does more than read and write.
func startRedis(t *Target) error {
	port, err := t.servePort(func(port string) []string {
		return []string{"redis-server", "--bind", "127.0.0.1", "--port", port, "--save", "", "--appendonly", "no", "--dir",
			t.Dir}
	})
	if err != nil {
		return err
	}
	_, err = t.spawn(t.user, "redis-benchmark", "-p", port, "-c", "20", "-l", "-q", "-n", "100000000",
		"-P", "16", "-t", "lrange_100")
	return err
}

const nginxConfig = `daemon off;
master_process on;
worker_processes 2;
%[2]spid %[1]s/nginx.pid;
error_log %[1]s/error.log;
events { worker_connections 256; }
http {
	access_log off;
	client_body_temp_path %[1]s/body;
	proxy_temp_path %[1]s/proxy;
	fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi;
	scgi_temp_path %[1]s/scgi;
	gzip on;
	gzip_types text/plain;
	default_type text/plain;
	server {
		listen 127.0.0.1:%[3]s;
		root %[1]s/pages;
	}
}
`

func startNginx(t *Target) error {
	pages := filepath.Join(t.Dir, "pages")
	if err := os.Mkdir(pages, 0o755); err != nil {
		return err
	}
	page := strings.Repeat("The quick brown fox jumps over the lazy dog.\n", 200)
	if err := os.WriteFile(filepath.Join(pages, "page.txt"), []byte(page), 0o644); err != nil {
		return err
	}
	as := ""
	if t.user == nil && os.Geteuid() == 0 {
		as = "user root;\n"
	}
	server, err := exec.LookPath("nginx")
	if err != nil {
		server = "/usr/sbin/nginx"
	}
	config := filepath.Join(t.Dir, "nginx.conf")
	var failed error
	port, err := t.servePort(func(port string) []string {
		failed = os.WriteFile(config, fmt.Appendf(nil, nginxConfig, t.Dir, as, port), 0o644)
		return []string{server, "-e", t.Dir + "/error.log", "-c", config}
	})
	if err = errors.Join(failed, err); err != nil {
		return err
	}
	_, err = t.spawn(t.user, "wrk", "-t", "1", "-c", "16", "-d", t.seconds(),
		"-H", "Accept-Encoding: gzip", "http://127.0.0.1:"+port+"/page.txt")
	return err
}

func startPostgres(t *Target) error { return startPostgresWith()(t) }

func startPostgresWith(options ...string) func(*Target) error {
	return func(t *Target) error {
		return t.startPostgres(options, 4, "-j", "1", "-b", "select-only@9", "-b", "tpcb-like@1")
	}
}

func (t *Target) startPostgres(options []string, clients int, load ...string) error {
	as, err := t.postgresUser()
	if err != nil {
		return err
	}
	bin, err := postgresBin()
	if err != nil {
		return err
	}
	data := filepath.Join(t.Dir, "data")
	if err := t.finish(as, filepath.Join(bin, "initdb"), "-D", data, "-U", "postgres", "-A", "trust", "-N", "-E", "UTF8",
		"--locale=C"); err != nil {
		return err
	}
	socket := filepath.Join(t.Dir, ".s.PGSQL.5432")
	args := append([]string{filepath.Join(bin, "postgres"), "-D", data, "-k", t.Dir,
		"-c", "listen_addresses=", "-c", "fsync=off", "-c", "shared_buffers=32MB", "-c", "max_connections=20", "-c",
		"autovacuum=off"}, options...)
	err = t.serve(as, "unix", socket, args...)
	if err != nil {
		return err
	}
	bench := []string{filepath.Join(bin, "pgbench"), "-h", t.Dir, "-U", "postgres"}
	// The socket precedes readiness.
	for end := time.Now().Add(patience); ; time.Sleep(200 * time.Millisecond) { // between two attempts
		err := t.finish(as, append(bench, "-i", "-q", "-s", "1", "postgres")...)
		if err == nil {
			break
		}
		if !strings.Contains(err.Error(), "starting up") || time.Now().After(end) {
			return err
		}
	}
	bench = append(append(bench, "-c", strconv.Itoa(clients), "-n", "-T", t.seconds()), load...)
	_, err = t.spawn(as, append(bench, "postgres")...)
	if err != nil {
		return err
	}
	return t.processes[0].waitFor("serve its clients and no others", func() bool { return backends(t.PID) == clients })
}

// backends returns −1 while a serving process has no title.
func backends(pid int) (n int) {
	for _, child := range children(pid) {
		title, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", child))
		switch {
		case !strings.HasPrefix(string(title), "postgres: "):
			return -1
		case strings.Contains(string(title), "[local]"):
			n++
		}
	}
	return n
}

func (t *Target) finish(as *User, args ...string) error {
	p, err := t.spawn(as, args...)
	t.processes = t.processes[:max(0, len(t.processes)-1)]
	if p == nil {
		return err
	}
	p.wait(patience)
	if p.alive() {
		p.stop(0)
		return fmt.Errorf("%s did not end within %s: %s", args[0], patience, p.output())
	}
	if !p.cmd.ProcessState.Success() {
		return fmt.Errorf("%s: %s: %s", args[0], p.cmd.ProcessState, p.output())
	}
	return nil
}

func (t *Target) postgresUser() (*User, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, notInstalled("postgresql", err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &User{uint32(uid), uint32(gid)}, os.Chown(t.Dir, int(uid), int(gid))
}

func postgresBin() (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) > 0 {
		return filepath.Dir(found[len(found)-1]), nil
	}
	file, err := exec.LookPath("initdb")
	if err != nil {
		return "", notInstalled("postgresql", err)
	}
	return filepath.Dir(file), nil
}
