// SPDX-License-Identifier: Apache-2.0

package load

import (
	"fmt"
	"io"
	"net"
	"sync"

	"prywalk/benchmarks/bench/load"
)

// Running clients send requests continuously; Sleeping further connections are idle. A wait is from request to answer.
func (p *program) startGoServer() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("cannot listen on the loopback interface: %w", err)
	}
	s := &goServer{table: map[uint64]uint64{}}
	go s.accept(l)
	for i := range p.Running + p.Sleeping {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			return err
		}
		if i < p.Running {
			go p.request(&p.workers[i], conn, uint64(i)+1)
		}
	}
	return nil
}

type goServer struct {
	mu    sync.RWMutex
	table map[uint64]uint64
}

func (s *goServer) accept(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go s.answer(conn)
	}
}

func (s *goServer) answer(conn net.Conn) {
	defer conn.Close()
	var b [requestSize]byte
	x := uint64(1)
	for {
		if _, err := io.ReadFull(conn, b[:]); err != nil {
			return
		}
		for range requestWork {
			x = load.Mix(x)
		}
		key := x % 1024
		if b[0]%8 == 0 {
			s.mu.Lock()
			s.table[key] = x
			s.mu.Unlock()
		} else {
			s.mu.RLock()
			x |= s.table[key] & 1
			s.mu.RUnlock()
		}
		b[0] = byte(x)
		if _, err := conn.Write(b[:]); err != nil {
			return
		}
	}
}

func (p *program) request(w *worker, conn net.Conn, x uint64) {
	defer conn.Close()
	var b [requestSize]byte
	for p.ctx.Err() == nil {
		x = load.Mix(x)
		b[0] = byte(x)
		asked := load.Now()
		if _, err := conn.Write(b[:]); err != nil {
			return
		}
		if _, err := io.ReadFull(conn, b[:]); err != nil {
			return
		}
		w.waits.add(load.Now() - asked)
		w.n.Add(1)
	}
}
