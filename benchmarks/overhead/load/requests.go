// SPDX-License-Identifier: Apache-2.0

package load

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"prywalk/benchmarks/bench/load"
)

const (
	requestSize = 64
	requestWork = 64
)

// requests is one client and its server connection, each a thread that blocks. A wait is from request to answer.
func (p *program) requests(w *worker) error {
	client, server, err := connection()
	if err != nil {
		return fmt.Errorf("cannot connect over the loopback interface: %w", err)
	}
	go serve(server)
	go p.ask(w, client)
	return nil
}

func connection() (client, server *os.File, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return nil, nil, err
	}
	defer c.Close()
	s, err := l.Accept()
	if err != nil {
		return nil, nil, err
	}
	defer s.Close()
	client, err = c.(*net.TCPConn).File()
	server, err2 := s.(*net.TCPConn).File()
	return client, server, errors.Join(err, err2)
}

func serve(conn *os.File) {
	runtime.LockOSThread()
	defer conn.Close()
	fd := int(conn.Fd())
	var b [requestSize]byte
	x := uint64(1)
	for read(fd, b[:]) == nil {
		for range requestWork {
			x = load.Mix(x)
		}
		b[0] = byte(x)
		if write(fd, b[:]) != nil {
			return
		}
	}
}

func (p *program) ask(w *worker, conn *os.File) {
	runtime.LockOSThread()
	defer conn.Close()
	fd := int(conn.Fd())
	var b [requestSize]byte
	for p.ctx.Err() == nil {
		asked := load.Now()
		if write(fd, b[:]) != nil || read(fd, b[:]) != nil {
			return
		}
		w.waits.add(load.Now() - asked)
		w.n.Add(1)
	}
}

func read(fd int, b []byte) error {
	return all(b, func(b []byte) (int, error) { return unix.Read(fd, b) })
}

func write(fd int, b []byte) error {
	return all(b, func(b []byte) (int, error) { return unix.Write(fd, b) })
}

func all(b []byte, call func([]byte) (int, error)) error {
	for len(b) > 0 {
		n, err := call(b)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return err
		case n == 0:
			return unix.ECONNRESET
		default:
			b = b[n:]
		}
	}
	return nil
}
