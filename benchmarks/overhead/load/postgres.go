// SPDX-License-Identifier: Apache-2.0

package load

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

const (
	postgresSocket = ".s.PGSQL.5432"
	postgresUser   = "bench"
	postgresRows   = 10000
)

func startPostgres() (*server, error) {
	bin, err := postgresBin()
	if err != nil {
		return nil, err
	}
	dir, err := scratch()
	if err != nil {
		return nil, err
	}
	as, err := unprivilegedUser(dir)
	data := filepath.Join(dir, "data")
	if err == nil {
		cmd := exec.Command(filepath.Join(bin, "initdb"), "-D", data, "-A", "trust", "-U", postgresUser, "--no-sync")
		cmd.SysProcAttr, cmd.Dir = as, dir
		var out []byte
		if out, err = cmd.CombinedOutput(); err != nil {
			err = fmt.Errorf("initdb: %w: %s", err, out)
		}
	}
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	cmd := exec.Command(filepath.Join(bin, "postgres"), "-D", data, "-k", dir, "-c", "listen_addresses=", "-c",
		"fsync=off")
	cmd.SysProcAttr, cmd.Dir = as, dir
	s, err := launch(cmd, dir, syscall.SIGQUIT, func() bool {
		c, err := dialPostgres(dir)
		if err == nil {
			c.(*postgresClient).conn.Close()
		}
		return err == nil
	})
	if err != nil {
		return nil, err
	}
	if err := fillPostgres(dir); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

func postgresBin() (string, error) {
	path, err := exec.LookPath("initdb")
	if err != nil {
		path = newest("/usr/lib/postgresql/*/bin/initdb")
	}
	if path == "" {
		return "", fmt.Errorf("initdb: %w", errAbsent)
	}
	path, err = filepath.EvalSymlinks(path)
	return filepath.Dir(path), err
}

func unprivilegedUser(dir string) (*syscall.SysProcAttr, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("user postgres: %w", errAbsent)
	}
	uid, err := strconv.Atoi(u.Uid)
	gid, err2 := strconv.Atoi(u.Gid)
	if err := errors.Join(err, err2, os.Chown(dir, uid, gid)); err != nil {
		return nil, err
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
}

func fillPostgres(dir string) error {
	c, err := dialPostgres(dir)
	if err != nil {
		return err
	}
	p := c.(*postgresClient)
	defer p.conn.Close()
	return p.query(fmt.Sprintf("CREATE TABLE accounts AS SELECT id, 0 AS balance FROM generate_series(0, %d) AS id; "+
		"ALTER TABLE accounts ADD PRIMARY KEY (id); ANALYZE accounts;", postgresRows-1))
}

type postgresClient struct {
	conn net.Conn
	in   *bufio.Reader
}

func dialPostgres(dir string) (client, error) {
	conn, err := net.Dial("unix", filepath.Join(dir, postgresSocket))
	if err != nil {
		return nil, err
	}
	c := &postgresClient{conn: conn, in: bufio.NewReader(conn)}
	const version = 3 << 16
	b := binary.BigEndian.AppendUint32(make([]byte, 4), version)
	b = append(b, "user\x00"+postgresUser+"\x00database\x00postgres\x00\x00"...)
	binary.BigEndian.PutUint32(b, uint32(len(b)))
	if _, err = conn.Write(b); err == nil {
		err = c.untilReady()
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return c, nil
}

func (c *postgresClient) ask(n uint64) error {
	id := n % postgresRows
	return c.query(fmt.Sprintf("BEGIN; UPDATE accounts SET balance = balance + 1 WHERE id = %d; SELECT balance FROM "+
		"accounts WHERE id = %d; END;", id, id))
}

func (c *postgresClient) query(sql string) error {
	b := binary.BigEndian.AppendUint32([]byte{'Q'}, uint32(len(sql)+5))
	b = append(append(b, sql...), 0)
	if _, err := c.conn.Write(b); err != nil {
		return err
	}
	return c.untilReady()
}

const longestMessage = 1 << 20

func (c *postgresClient) untilReady() error {
	for {
		var head [5]byte
		if _, err := io.ReadFull(c.in, head[:]); err != nil {
			return err
		}
		n := binary.BigEndian.Uint32(head[1:])
		if n < 4 || n > longestMessage {
			return fmt.Errorf("postgres: a message of %d bytes", n)
		}
		if head[0] == 'E' {
			text := make([]byte, n-4)
			_, err := io.ReadFull(c.in, text)
			return errors.Join(fmt.Errorf("postgres: %q", text), err)
		}
		if _, err := c.in.Discard(int(n) - 4); err != nil {
			return err
		}
		if head[0] == 'Z' {
			return nil
		}
	}
}
