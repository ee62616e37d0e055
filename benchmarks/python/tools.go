// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"prywalk/internal/host/procmem"
)

type tool struct {
	name       string
	freq       int
	trampoline bool
	settle     time.Duration
	args       func(e *environment, s *settings, pid int, out string) []string
	read       func(out string, said []byte) (*profile, error)
}

func (t *tool) String() string { return fmt.Sprintf("%s, %d Hz", t.name, t.freq) }

func (s *settings) toolsFor(p *program) (list []tool) {
	for _, freq := range []int{100, 1000} {
		list = append(list, prywalk("prywalk", s.prywalk, freq))
		if s.before != "" {
			list = append(list, prywalk("prywalk before", s.before, freq))
		}
		if p.newest {
			list = append(list, tachyon(freq, false), tachyon(freq, true), perf(freq))
			continue
		}
		list = append(list, pySpy(freq), austin(freq))
	}
	if !p.newest {
		list = append(list, pySpy(100, "--native"), pySpy(1000, "--nonblocking"), perf(100))
	}
	return list
}

func prywalk(name, file string, freq int) tool {
	return tool{name: name, freq: freq, args: func(_ *environment, _ *settings, pid int, out string) []string {
		return []string{file, "record", "-F", strconv.Itoa(freq), "-p", strconv.Itoa(pid), "-o", out, "--stats",
			out + ".stats"}
	}, read: readPrywalk}
}

func pySpy(freq int, more ...string) tool {
	name := "py-spy"
	for _, m := range more {
		name += " " + m
	}
	return tool{name: name, freq: freq, args: func(e *environment, _ *settings, pid int, out string) []string {
		return append([]string{e.beside("py-spy"), "record", "-p", strconv.Itoa(pid), "-r", strconv.Itoa(freq), "-d", "600",
			"-f", "raw", "-o", out}, more...)
	}, read: folded(pySpyLine, pySpyFailed)}
}

func austin(freq int) tool {
	return tool{name: "austin", freq: freq, args: func(e *environment, _ *settings, pid int, out string) []string {
		return []string{e.beside("austin"), "-s", "-i", strconv.Itoa(1_000_000 / freq), "-p", strconv.Itoa(pid), "-o", out}
	}, read: folded(austinLine, austinFailed)}
}

func tachyon(freq int, blocking bool) tool {
	name, mode := "Tachyon", "cpu"
	if blocking {
		name, mode = name+" --blocking", "gil"
	}
	attach := func(e *environment, _ *settings, pid int, out string) []string {
		args := []string{e.newest, "-m", "profiling.sampling", "attach", "-a", "-r", strconv.Itoa(freq), "-d", "600",
			"--mode", mode, "--no-gc", "--collapsed", "-o", out}
		if blocking {
			args = append(args, "--blocking")
		}
		return append(args, strconv.Itoa(pid))
	}
	return tool{name: name, freq: freq, settle: tachyonSettle, args: attach, read: folded(tachyonLine, tachyonFailed)}
}

func perf(freq int) tool {
	return tool{name: "perf with the trampoline", freq: freq, trampoline: true,
		args: func(_ *environment, _ *settings, pid int, out string) []string {
			return []string{"perf", "record", "-q", "-e", "cpu-clock", "-F", strconv.Itoa(freq), "-g", "-p",
				strconv.Itoa(pid), "-o", out}
		}, read: readPerf}
}

func (e *environment) beside(name string) string { return filepath.Join(filepath.Dir(e.python), name) }

func (e *environment) lacksTool(s *settings, t *tool) string {
	program := t.args(e, s, 1, "out")[0]
	if _, err := exec.LookPath(program); err != nil {
		return err.Error()
	}
	return ""
}

type runningTool struct {
	cmd *exec.Cmd
	out string
	cpu float64
}

const tachyonSettle = 1800 * time.Millisecond

func (s *settings) watch(ctx context.Context, e *environment, t *tool, pid int, out string) (*runningTool, error) {
	_ = os.Remove(out)
	said, err := os.Create(out + ".said")
	if err != nil {
		return nil, err
	}
	defer said.Close()
	args := t.args(e, s, pid, out)
	r := &runningTool{cmd: exec.CommandContext(ctx, args[0], args[1:]...), out: out}
	r.cmd.Stdout, r.cmd.Stderr = said, said
	if err := r.cmd.Start(); err != nil {
		return nil, err
	}
	time.Sleep(max(s.settle, t.settle))
	return r, nil
}

func (r *runningTool) used() float64 {
	ns, err := procmem.ProcessCPU(r.cmd.Process.Pid)
	if err != nil {
		return 0
	}
	return float64(ns) / 1e9
}

const mostWait = 20 * time.Second

func (r *runningTool) end() {
	_ = r.cmd.Process.Signal(syscall.SIGINT)
	kill := time.AfterFunc(mostWait, func() { _ = r.cmd.Process.Kill() })
	_ = r.cmd.Wait()
	kill.Stop()
	u := r.cmd.ProcessState
	r.cpu = (u.UserTime() + u.SystemTime()).Seconds()
}
