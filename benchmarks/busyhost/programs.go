// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

//go:embed programs/target.c programs/Work.java programs/work.py programs/work.js programs/work/main.go
var sources embed.FS

// A program prints a line of work and time for each line of its stdin, except redis, which is asked by its protocol.
type program struct {
	name       string
	build, run []string
	clients    []string
}

const socket = "redis.sock"

var programs = []program{
	{name: "C", build: strings.Fields("cc -O2 -pthread -o target target.c"), run: strings.Fields("./target 1 20")},
	{name: "Java", build: strings.Fields("javac Work.java"), run: strings.Fields("java Work")},
	{name: "Node", run: strings.Fields("node work.js")},
	{name: "Python", run: strings.Fields("/usr/bin/python3 work.py")},
	{name: "Go", build: strings.Fields("go build -o gowork work/main.go"), run: strings.Fields("./gowork")},
	{name: "redis", run: []string{"redis-server", "--port", "0", "--save", "", "--unixsocket", socket},
		clients: strings.Fields("redis-benchmark -s " + socket + " -t get,set -c 10 -l -q")},
}

type session struct {
	cmd, clients *exec.Cmd
	to           io.WriteCloser
	from         *bufio.Reader
	redis        bool
}

// start takes redis' answers from its socket, as soon as it is there.
func (b *bench) start(ctx context.Context, p program) (s *session, err error) {
	s = &session{cmd: b.command(ctx, p.run[0], p.run[1:]...), redis: len(p.clients) > 0}
	if s.redis {
		return s, b.startRedis(ctx, s, p)
	}
	if s.to, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	from, err := s.cmd.StdoutPipe()
	s.from = bufio.NewReader(from)
	return s, errors.Join(err, s.cmd.Start())
}

func (b *bench) startRedis(ctx context.Context, s *session, p program) error {
	if err := s.cmd.Start(); err != nil {
		return err
	}
	s.clients = b.command(ctx, p.clients[0], p.clients[1:]...)
	for {
		conn, err := net.Dial("unix", filepath.Join(b.dir, "programs", socket))
		if err == nil {
			s.to, s.from = conn, bufio.NewReader(conn)
			return s.clients.Start()
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, s.end())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (s *session) end() error {
	var err error
	if s.to != nil {
		err = s.to.Close()
	}
	for _, cmd := range []*exec.Cmd{s.clients, s.cmd} {
		if cmd != nil && cmd.Process != nil {
			_, _ = cmd.Process.Kill(), cmd.Wait()
		}
	}
	return err
}

// report is what a program says of its own work. If self is set it has measured its stops itself since the last report.
type report struct {
	work, at           float64 // units; ns
	cpu, lost, longest float64 // ns
	self               bool
}

func (s *session) report() (r report, err error) {
	if s.redis {
		return s.askRedis()
	}
	if _, err := io.WriteString(s.to, "\n"); err != nil {
		return r, err
	}
	line, err := s.from.ReadString('\n')
	if err != nil {
		return r, err
	}
	return parse(line)
}

func parse(line string) (r report, err error) {
	n, err := fmt.Sscan(line, &r.work, &r.at, &r.cpu, &r.lost, &r.longest)
	if n == 2 {
		err = nil
	}
	r.self = n == 5
	return r, err
}

// askRedis reads the bulk string that INFO answers (Redis serialization protocol): its lines end before "+PONG".
func (s *session) askRedis() (r report, err error) {
	if _, err := io.WriteString(s.to, "INFO stats\r\nPING\r\n"); err != nil {
		return r, err
	}
	r.at = float64(time.Since(began).Nanoseconds())
	for err == nil {
		var line string
		line, err = s.from.ReadString('\n')
		if text, ok := strings.CutPrefix(line, "total_commands_processed:"); ok {
			_, err = fmt.Sscan(text, &r.work)
		}
		if strings.HasPrefix(line, "+PONG") {
			return r, err
		}
	}
	return r, err
}

var began = time.Now()
