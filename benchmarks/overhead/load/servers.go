// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"prywalk/benchmarks/bench/load"
)

// Kinds of servers, which may not be installed.
const (
	Redis    = "redis"
	Postgres = "postgres"
)

// Servers returns these kinds.
func Servers() []string { return []string{Redis, Postgres} }

var errAbsent = errors.New("not installed")

const startWithin = 60 * time.Second

type server struct {
	cmd  *exec.Cmd
	dir  string
	quit syscall.Signal
	gone chan struct{}
}

type client interface {
	ask(n uint64) error
}

func (p *program) serve() (s *server, err error) {
	var dial func(dir string) (client, error)
	clients := 1
	switch p.Kind {
	case Redis:
		s, err = startRedis()
		dial, clients = dialRedis, redisClients
	default:
		s, err = startPostgres()
		dial = dialPostgres
	}
	if err != nil {
		return nil, err
	}
	for i := range clients * len(p.workers) {
		c, err := dial(s.dir)
		if err == nil {
			err = c.ask(0)
		}
		if err != nil {
			s.stop()
			return nil, fmt.Errorf("client %d of %s: %w", i, p.Kind, err)
		}
		go p.client(&p.workers[i/clients], c, uint64(i)<<32+1)
	}
	return s, nil
}

func (p *program) client(w *worker, c client, seed uint64) {
	for x := seed; p.ctx.Err() == nil; {
		x = load.Mix(x)
		asked := load.Now()
		if c.ask(x) != nil {
			return
		}
		w.waits.add(load.Now() - asked)
		w.n.Add(1)
	}
}

func launch(cmd *exec.Cmd, dir string, quit syscall.Signal, ready func() bool) (*server, error) {
	s := &server{cmd: cmd, dir: dir, quit: quit, gone: make(chan struct{})}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = quit
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // the signal is bound to the thread that started it
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
		close(s.gone)
	}()
	if err := <-started; err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	for end := time.Now().Add(startWithin); !ready(); time.Sleep(20 * time.Millisecond) {
		select {
		case <-s.gone:
			_ = os.RemoveAll(dir)
			return nil, fmt.Errorf("%s has ended: %s", cmd.Path, cmd.ProcessState)
		default:
		}
		if time.Now().After(end) {
			s.stop()
			return nil, fmt.Errorf("%s did not answer within %v", cmd.Path, startWithin)
		}
	}
	return s, nil
}

func (s *server) stop() {
	_ = s.cmd.Process.Signal(s.quit)
	select {
	case <-s.gone:
	case <-time.After(5 * time.Second):
		_ = s.cmd.Process.Kill()
		<-s.gone
	}
	_ = os.RemoveAll(s.dir)
}

func (s *server) processes() string {
	pid := s.cmd.Process.Pid
	list := []string{fmt.Sprint(pid)}
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	return strings.Join(append(list, strings.Fields(string(text))...), ",")
}

func runServer(ctx context.Context, o Options, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := &program{Options: o, ctx: ctx, workers: make([]worker, o.Running)}
	s, err := p.serve()
	if errors.Is(err, errAbsent) {
		_, err = fmt.Fprintln(out, load.Absent, err)
		return err
	}
	if err != nil {
		return err
	}
	defer s.stop()
	fmt.Fprintln(out, load.Ready, s.processes())
	return load.Answer(in, out, p.report)
}

func answers(socket string) bool {
	conn, err := net.Dial("unix", socket)
	if err == nil {
		conn.Close()
	}
	return err == nil
}

func scratch() (string, error) { return os.MkdirTemp("", "prywalk-bench-server-") }

func newest(pattern string) string {
	found, _ := filepath.Glob(pattern)
	if len(found) == 0 {
		return ""
	}
	return found[len(found)-1]
}
