// SPDX-License-Identifier: Apache-2.0

package testtargets

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is a command under timeout(1).
type process struct {
	cmd  *exec.Cmd
	done chan struct{}
	pid  int
	out  string
}

// startThread forks on one OS thread: PR_SET_PDEATHSIG follows the forking thread (prctl(2)).
var startThread = sync.OnceValue(func() chan<- func() {
	jobs := make(chan func())
	go func() {
		runtime.LockOSThread()
		for job := range jobs {
			job()
		}
	}()
	return jobs
})

func (t *Target) spawn(user *User, args ...string) (*process, error) {
	if _, err := exec.LookPath(args[0]); err != nil {
		return nil, notInstalled(args[0], err)
	}
	limit := strconv.Itoa(int(t.limit.Seconds()) + 1)
	p := &process{
		cmd:  exec.Command("timeout", append([]string{"-s", "KILL", limit}, args...)...),
		done: make(chan struct{}),
		out:  filepath.Join(t.Dir, filepath.Base(args[0])+".out"),
	}
	p.cmd.Dir = t.Dir
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if user != nil {
		p.cmd.SysProcAttr.Credential = &syscall.Credential{Uid: user.UID, Gid: user.GID}
	}
	out, err := os.Create(p.out)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	p.cmd.Stdout, p.cmd.Stderr = out, out
	started := make(chan error)
	startThread() <- func() { started <- p.cmd.Start() }
	if err := <-started; err != nil { // the function is called next
		return nil, err
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.done)
	}()
	t.processes = append(t.processes, p)
	return p, p.findChild()
}

const patience = 4 * time.Minute

func (p *process) findChild() error {
	return p.waitFor("start", func() bool {
		childPIDs := children(p.cmd.Process.Pid)
		if len(childPIDs) == 0 {
			return false
		}
		p.pid = childPIDs[0]
		return true
	})
}

var errEnded = errors.New("it ended")

func (p *process) waitFor(what string, ok func() bool) error {
	for end := time.Now().Add(patience); ; {
		if ok() {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("%s did not %s: %w: %s", p.cmd.Args[3], what, errEnded, p.output())
		case <-time.After(5 * time.Millisecond):
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s did not %s within %s: %s", p.cmd.Args[3], what, patience, p.output())
		}
	}
}

func (p *process) ready() error {
	return p.waitFor("get ready", func() bool {
		return strings.Contains(p.output(), "ready\n")
	})
}

func (p *process) output() string {
	text, _ := os.ReadFile(p.out)
	return string(text)
}

func (p *process) stop(sig syscall.Signal) {
	var left []int
	if p.pid > 0 { // 0 would be the caller's group
		left = append(tree(p.pid), p.pid)
	}
	if sig == 0 {
		sig = syscall.SIGKILL
	}
	if p.pid > 0 && p.alive() {
		_ = syscall.Kill(p.pid, syscall.SIGCONT) // a stopped process handles no signal
		if sig == syscall.SIGKILL {
			// The group is timeout's, which is not reaped yet.
			_ = syscall.Kill(-p.cmd.Process.Pid, sig)
		}
		_ = syscall.Kill(p.pid, sig)
		p.wait(20 * time.Second)
	}
	for _, pid := range left {
		if parentOf(pid) == p.pid || pid == p.pid && p.alive() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	if p.alive() {
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
		p.wait(20 * time.Second)
	}
}

func (p *process) alive() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

func (p *process) wait(limit time.Duration) {
	select {
	case <-p.done:
	case <-time.After(limit):
	}
}

func children(pid int) []int {
	var pids []int
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, file := range files {
		text, _ := os.ReadFile(file)
		for _, field := range strings.Fields(string(text)) {
			if n, err := strconv.Atoi(field); err == nil {
				pids = append(pids, n)
			}
		}
	}
	return pids
}

func threads(pid int) []int {
	var tids []int
	entries, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil {
			tids = append(tids, n)
		}
	}
	return tids
}

func threadName(tid int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", tid))
	return strings.TrimSpace(string(text))
}

func tree(pid int) []int {
	if pid <= 0 {
		return nil
	}
	all := children(pid)
	for i := 0; i < len(all); i++ {
		all = append(all, children(all[i])...)
	}
	return all
}

// parentOf reads field 4 of stat (proc_pid_stat(5)).
func parentOf(pid int) int {
	fields := statFields(pid)
	if len(fields) < 2 {
		return 0
	}
	n, _ := strconv.Atoi(fields[1])
	return n
}

// statFields returns the fields of stat from the third on.
func statFields(pid int) []string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(text), ") ")
	return strings.Fields(rest)
}

// cpuTicks sums fields 14 and 15 of stat, in clock ticks.
func cpuTicks(pids []int) int {
	sum := 0
	for _, pid := range pids {
		if f := statFields(pid); len(f) > 12 {
			user, _ := strconv.Atoi(f[11])
			system, _ := strconv.Atoi(f[12])
			sum += user + system
		}
	}
	return sum
}
