// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"prywalk/internal/host/procmem"
)

type target struct {
	cmd    *exec.Cmd
	pieces string
	port   string

	mu      sync.Mutex
	paused  bool
	ends    []int64 // of answers, CLOCK_MONOTONIC ns
	lengths []int64 // ns
	over    chan struct{}
	clients sync.WaitGroup
}

const clients = 4

func (e *environment) start(ctx context.Context, p *program, env ...string) (*target, error) {
	pieces, err := os.CreateTemp(e.dir, "pieces-")
	if err != nil {
		return nil, err
	}
	_ = pieces.Close()
	t := &target{pieces: pieces.Name(), over: make(chan struct{}), paused: true}
	t.cmd = e.command(ctx, p, append(env, "PIECES="+t.pieces)...)
	out, err := t.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(e.dir, p.name+".log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	t.cmd.Stderr = log
	if err := t.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if fields := strings.Fields(line); err == nil && len(fields) == 2 && p.server {
		t.port = fields[1]
		for range clients {
			t.clients.Add(1)
			go t.client()
		}
	} else if err != nil || fields[0] != "ready" {
		t.kill()
		return nil, fmt.Errorf("it did not start, see %s: %w", log.Name(), err)
	}
	_ = syscall.Kill(t.cmd.Process.Pid, syscall.SIGSTOP)
	return t, nil
}

func (t *target) pause() {
	t.mu.Lock()
	t.paused = true
	t.mu.Unlock()
	if t.port != "" {
		time.Sleep(50 * time.Millisecond)
	}
	_ = syscall.Kill(t.cmd.Process.Pid, syscall.SIGSTOP)
}

func (t *target) resume() {
	_ = syscall.Kill(t.cmd.Process.Pid, syscall.SIGCONT)
	t.mu.Lock()
	t.paused = false
	t.mu.Unlock()
}

func (t *target) kill() {
	select {
	case <-t.over:
	default:
		close(t.over)
	}
	_ = t.cmd.Process.Kill()
	_ = t.cmd.Wait()
	t.clients.Wait()
	_ = os.Remove(t.pieces)
	_ = os.Remove(fmt.Sprintf("/tmp/perf-%d.map", t.cmd.Process.Pid))
}

func (t *target) client() {
	defer t.clients.Done()
	var c net.Conn
	var r *bufio.Reader
	for {
		select {
		case <-t.over:
			return
		default:
		}
		t.mu.Lock()
		paused := t.paused
		t.mu.Unlock()
		if paused {
			time.Sleep(5 * time.Millisecond)
			continue
		}
		if c == nil {
			var err error
			if c, err = net.Dial("tcp", "127.0.0.1:"+t.port); err != nil {
				time.Sleep(5 * time.Millisecond)
				continue
			}
			r = bufio.NewReader(c)
		}
		began := procmem.Now()
		keep, err := ask(c, r)
		end := procmem.Now()
		if err == nil {
			t.mu.Lock()
			t.ends, t.lengths = append(t.ends, end), append(t.lengths, end-began)
			t.mu.Unlock()
		}
		if err != nil || !keep {
			_ = c.Close()
			c = nil
		}
	}
}

func ask(c net.Conn, r *bufio.Reader) (keep bool, err error) {
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := c.Write([]byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")); err != nil {
		return false, err
	}
	length, keep := -1, true
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return false, err
		}
		name, value, _ := strings.Cut(strings.ToLower(strings.TrimSpace(line)), ":")
		switch {
		case name == "content-length":
			if _, err := fmt.Sscan(value, &length); err != nil {
				return false, err
			}
		case name == "connection" && strings.TrimSpace(value) == "close":
			keep = false
		}
		if name == "" {
			break
		}
	}
	if length < 0 {
		return false, fmt.Errorf("an answer without a length")
	}
	_, err = r.Discard(length)
	return keep, err
}

func (t *target) progress() []int64 {
	if t.port != "" {
		t.mu.Lock()
		defer t.mu.Unlock()
		ends := slices.Clone(t.ends)
		slices.Sort(ends)
		return ends
	}
	text, err := os.ReadFile(t.pieces)
	if err != nil {
		return nil
	}
	var ends []int64
	for ; len(text) >= 8; text = text[8:] {
		ends = append(ends, int64(binary.NativeEndian.Uint64(text)))
	}
	slices.Sort(ends)
	return ends
}

func (t *target) between(from, to int64) (lengths []float64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, end := range t.ends {
		if end >= from && end < to {
			lengths = append(lengths, float64(t.lengths[i]))
		}
	}
	return lengths
}

func rate(ends []int64, from, to int64) float64 {
	return (done(ends, to) - done(ends, from)) / (float64(to-from) / 1e9)
}

func done(ends []int64, at int64) float64 {
	i, _ := slices.BinarySearch(ends, at)
	if i == 0 || i == len(ends) {
		return float64(i)
	}
	return float64(i) + float64(at-ends[i-1])/float64(ends[i]-ends[i-1])
}
