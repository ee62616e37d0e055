// SPDX-License-Identifier: Apache-2.0

package testtargets

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// Options change how a target is started.
type Options struct {
	Limit time.Duration // 0: 15 minutes
	// User, for root. PostgreSQL always runs as postgres.
	User *User
}

// User is an identity to run as.
type User struct{ UID, GID uint32 }

// Nobody is the user nobody.
var Nobody = &User{65534, 65534}

// Target is a running program under load.
type Target struct {
	Name       string
	PID        int    // with Expect.Tree its children are targets too
	Dir        string // program, data and output; Stop removes it
	Exe        string // copy in Dir of a program of src; else ""
	Unstripped string // same program with symbols; else ""
	Expect     Expect

	limit     time.Duration
	user      *User
	spec      *spec
	processes []*process
	cleanup   []func()
}

// Start returns once the target is under load; the caller stops it.
func Start(name string, o Options) (*Target, error) {
	s, err := find(name)
	if err != nil {
		return nil, err
	}
	t := &Target{Name: name, Expect: s.expect, limit: o.Limit, user: o.User, spec: s}
	if t.limit <= 0 {
		t.limit = 15 * time.Minute
	}
	if t.Dir, err = os.MkdirTemp("", "prywalk-"+name+"-"); err != nil {
		return nil, err
	}
	if err := t.start(); err != nil {
		t.Stop()
		return nil, fmt.Errorf("test target %s: %w", name, err)
	}
	return t, nil
}

func (t *Target) start() error {
	if err := os.Chmod(t.Dir, 0o755); err != nil {
		return err
	}
	if t.user != nil {
		if err := os.Chown(t.Dir, int(t.user.UID), int(t.user.GID)); err != nil {
			return err
		}
	}
	if err := t.spec.start(t); err != nil {
		return err
	}
	if err := t.busy(); err != nil {
		return err
	}
	return t.processes[0].waitFor("put its sleepers to sleep", t.asleep)
}

func (t *Target) asleep() bool {
	sleeping := map[string]bool{}
	for _, tid := range threads(t.PID) {
		if f := statFields(tid); len(f) > 0 && f[0] == "S" {
			sleeping[threadName(tid)] = true
		}
	}
	for _, s := range t.Expect.Sleepers {
		if !sleeping[s.Thread] {
			return false
		}
	}
	return true
}

func (t *Target) busy() error {
	before := cpuTicks(t.PIDs())
	return t.processes[0].waitFor("get busy", func() bool {
		return cpuTicks(t.PIDs()) >= before+5
	})
}

// PIDs are the target's process and, with Expect.Tree, its live descendants.
func (t *Target) PIDs() []int {
	pids := []int{t.PID}
	if t.Expect.Tree {
		pids = append(pids, tree(t.PID)...)
	}
	return pids
}

// Exited is closed when the target's first process has ended.
func (t *Target) Exited() <-chan struct{} { return t.processes[0].done }

// Stop ends load and target and removes Dir. It may be called again.
func (t *Target) Stop() {
	t.End()
	for _, f := range t.cleanup {
		f()
	}
	t.cleanup = nil
	_ = os.RemoveAll(t.Dir)
}

// Load stops (SIGSTOP) and continues what makes the target work: the clients of a server.
func (t *Target) Load(run bool) {
	sig := syscall.SIGSTOP
	if run {
		sig = syscall.SIGCONT
	}
	for _, p := range t.processes[min(1, len(t.processes)):] {
		_ = syscall.Kill(-p.cmd.Process.Pid, sig)
	}
}

// End ends load and target, so that they use no more CPU time. Dir stays.
func (t *Target) End() {
	for i := len(t.processes) - 1; i > 0; i-- {
		t.processes[i].stop(0)
	}
	if len(t.processes) > 0 {
		t.processes[0].stop(t.spec.stop)
	}
	t.processes = t.processes[:min(1, len(t.processes))]
}

func (t *Target) place() (string, error) {
	b, err := t.spec.program.build()
	if err != nil {
		return "", err
	}
	t.Unstripped = b.unstripped
	file := filepath.Join(t.Dir, filepath.Base(t.spec.program.result))
	text, err := os.ReadFile(b.file)
	if err != nil {
		return "", err
	}
	return file, WriteExecutable(file, text)
}

func (t *Target) launch(args ...string) error {
	p, err := t.spawn(t.user, append(args, t.seconds())...)
	if err != nil {
		return err
	}
	t.PID = p.pid
	return p.ready()
}

func (t *Target) seconds() string { return strconv.Itoa(int(t.limit.Seconds())) }

func startProgram(t *Target) error {
	file, err := t.place()
	if err != nil {
		return err
	}
	t.Exe = file
	return t.launch(file)
}
