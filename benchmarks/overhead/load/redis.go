// SPDX-License-Identifier: Apache-2.0

package load

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

const (
	redisSocket  = "redis.sock"
	redisClients = 20
)

func startRedis() (*server, error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, fmt.Errorf("redis-server: %w", errAbsent)
	}
	dir, err := scratch()
	if err != nil {
		return nil, err
	}
	socket := filepath.Join(dir, redisSocket)
	cmd := exec.Command(path, "--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no", "--dir", dir)
	return launch(cmd, dir, syscall.SIGKILL, func() bool { return answers(socket) })
}

type redisClient struct {
	conn net.Conn
	in   *bufio.Reader
	line []byte
}

func dialRedis(dir string) (client, error) {
	conn, err := net.Dial("unix", filepath.Join(dir, redisSocket))
	return &redisClient{conn: conn, in: bufio.NewReader(conn)}, err
}

const redisKeys = 10000

func (c *redisClient) ask(n uint64) error {
	verb, value := "GET key:", "\r\n"
	if n%4 == 0 {
		verb, value = "SET key:", " "+strings.Repeat("x", 64)+"\r\n"
	}
	c.line = append(strconv.AppendUint(append(c.line[:0], verb...), n/4%redisKeys, 10), value...)
	if _, err := c.conn.Write(c.line); err != nil {
		return err
	}
	head, err := c.in.ReadSlice('\n')
	switch {
	case err != nil:
		return err
	case head[0] == '-':
		return fmt.Errorf("redis: %s", head)
	case head[0] != '$':
		return nil
	}
	n64, err := strconv.Atoi(strings.TrimSpace(string(head[1:])))
	if err == nil && n64 >= 0 {
		_, err = io.CopyN(io.Discard, c.in, int64(n64)+2)
	}
	return err
}
