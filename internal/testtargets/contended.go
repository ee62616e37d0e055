// SPDX-License-Identifier: Apache-2.0

package testtargets

import (
	"os"
	"path/filepath"
	"strconv"
)

// This redis holds a lock per idle I/O thread: idle with three clients, busy with many.
func startContendedRedis(t *Target) error {
	port, err := t.servePort(func(port string) []string {
		return []string{"redis-server", "--bind", "127.0.0.1", "--port", port, "--save", "", "--appendonly", "no", "--dir",
			t.Dir,
			"--io-threads", "4", "--io-threads-do-reads", "yes"}
	})
	if err != nil {
		return err
	}
	if _, err = t.spawn(t.user, "redis-benchmark", "-p", port, "-c", "3", "-l", "-q", "-n", "100000000", "-t",
		"lrange_100"); err != nil {
		return err
	}
	crowd := "while redis-benchmark -p " + port + " -c 20 -q -n 100 -t ping_mbulk; do sleep 0.3; done"
	_, err = t.spawn(t.user, "sh", "-c", crowd)
	return err
}

// Clients update one row and take one advisory lock. A commit sleeps with the log's lock; others wait at semaphores.
func startContendedPostgres(t *Target) error {
	script := filepath.Join(t.Dir, "one.sql")
	text := "BEGIN;\nUPDATE pgbench_branches SET bbalance = bbalance + 1 WHERE bid = 1;\nEND;\n"
	if err := os.WriteFile(script, []byte(text), 0o644); err != nil {
		return err
	}
	advisory := filepath.Join(t.Dir, "advisory.sql")
	text = "BEGIN;\nSELECT pg_advisory_xact_lock(1);\nEND;\n"
	if err := os.WriteFile(advisory, []byte(text), 0o644); err != nil {
		return err
	}
	own := filepath.Join(t.Dir, "own.sql")
	text = "UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = 1 + :client_id;\n"
	if err := os.WriteFile(own, []byte(text), 0o644); err != nil {
		return err
	}
	server := []string{"-c", "fsync=on", "-c", "commit_delay=2000", "-c", "commit_siblings=1"}
	return t.startPostgres(server, 12, "-j", "1", "-f", script+"@2", "-f", advisory+"@1", "-f", own+"@3")
}

func startContendedMariaDB(t *Target) error {
	as := t.user
	if as == nil && os.Geteuid() == 0 {
		as = Nobody
		if err := os.Chown(t.Dir, int(as.UID), int(as.GID)); err != nil {
			return err
		}
	}
	data, socket := filepath.Join(t.Dir, "data"), filepath.Join(t.Dir, "s")
	if err := t.finish(as, "mariadb-install-db", "--no-defaults", "--datadir="+data,
		"--auth-root-authentication-method=normal", "--skip-test-db"); err != nil {
		return err
	}
	server := []string{serverPath("mariadbd"), "--no-defaults", "--datadir=" + data, "--socket=" + socket,
		"--skip-networking",
		"--innodb-buffer-pool-size=16M", "--pid-file=" + filepath.Join(t.Dir, "pid")}
	if err := t.serve(as, "unix", socket, server...); err != nil {
		return err
	}
	const clients = 12
	_, err := t.spawn(as, "mariadb-slap", "--no-defaults", "--socket="+socket, "--user=root", "--create-schema=load",
		"--create=CREATE TABLE t (id INT PRIMARY KEY, n INT); INSERT INTO t VALUES (1, 0)", "--delimiter=;",
		"--query=UPDATE load.t SET n = n + 1 WHERE id = 1", "--concurrency="+strconv.Itoa(clients),
		"--number-of-queries=2000000000")
	return err
}

// serverPath finds what Debian keeps off users' PATH.
func serverPath(name string) string {
	if file := filepath.Join("/usr/sbin", name); isFile(file) {
		return file
	}
	return name
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
